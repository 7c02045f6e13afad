// The command line of an interpreter that is started ahead of its program.
#pragma once

#include <string>
#include <vector>

#include "jail/init/protocol.h"

namespace polybox::jail::init {

/// A WarmStart in the form that execve() takes. The slot init builds it once, with allocations.
/// Waiting guests, which may not allocate (raw.h), only read it, so it must not change after the
/// first cell.
struct WarmCommand {
  explicit WarmCommand(const WarmStart& warm);
  WarmCommand(const WarmCommand&) = delete;
  WarmCommand& operator=(const WarmCommand&) = delete;

  std::vector<std::string> words;
  std::vector<std::string> variables;
  /// Pointers into `words` and `variables`, each list with a null at its end.
  std::vector<char*> argv;
  std::vector<char*> env;
  std::vector<ResourceLimit> limits;
};

}  // namespace polybox::jail::init
