// The name of a compile step's result: a digest of everything that the compiler sees. Two steps of
// the same name do the same, so either may have the other's result.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "exec/launch.h"
#include "jail/grade.h"
#include "jail/slot.h"

namespace polybox::exec {

struct CompileSight {
  const Installation& installation;
  /// All that is in the working directory, in the order in which it is put there.
  const std::vector<jail::InputFile>& files;
  /// The standard streams do not count.
  const jail::RunRequest& request;
  jail::Grade grade = jail::Grade::kFull;
};

/// 64 hexadecimal digits; nothing when the next compiler may not find what this one did. Looks at
/// the compiler's files, so that a new one is another.
std::optional<std::string> CompileKey(const CompileSight& sight);

}  // namespace polybox::exec
