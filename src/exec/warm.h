// From a language file to an interpreter that is started ahead of its program, and which runs it
// can take over. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "exec/launch.h"
#include "jail/spec.h"

namespace polybox::exec {

/// Modules to load ahead, by language id, besides those of the language files.
using Preloads = std::map<std::string, std::vector<std::string>>;

/// What most runs are like. Others are taken over as well, but more slowly.
struct UsualRun {
  /// As in Request.
  std::string output_directory;
};

/// Of kind kNone when the language has nothing of the kind.
jail::Warm WarmFor(const Installation& installation, const Preloads& preloads,
                   const UsualRun& usual);

/// Whether the program would find all that it finds after a cold start. Else that is what it gets.
bool TakesOver(const Installation& installation, const jail::RunRequest& run);

}  // namespace polybox::exec
