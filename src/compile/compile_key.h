// Computes the name of a compile step's result: a digest of everything that the compiler sees. Two
// steps of the same name do the same, so one may use the result of the other. Used by
// compile_step.h and preparer.cc.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "jail/grade.h"
#include "jail/slot.h"
#include "launch/launch.h"

namespace polybox::compile {

/// Everything that a compiler sees. The members are borrowed.
struct CompileSight {
  const launch::Installation& installation;
  /// All files in the working directory, in the order in which they are put there.
  const std::vector<jail::InputFile>& files;
  /// The command, its environment and its limits. The standard streams are ignored.
  const jail::RunRequest& request;
  jail::Grade grade = jail::Grade::kFull;
};

/// Returns 64 hexadecimal digits. Returns nothing if a file contains a word that makes each
/// compilation different (`changing_words`). Reads the time stamps of the compiler's files, so that
/// a new compiler gets new names.
std::optional<std::string> CompileKey(const CompileSight& sight);

}  // namespace polybox::compile
