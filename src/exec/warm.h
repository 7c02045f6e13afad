// Describes the interpreter that a slot starts before a program arrives, and decides which runs
// that interpreter can take over. Used by the engine and sessions. Has no side effects; any thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "jail/spec.h"
#include "launch/launch.h"

namespace polybox::exec {

/// Modules that such an interpreter loads, by language id, in addition to those of the language
/// files.
using Preloads = std::map<std::string, std::vector<std::string>>;

/// What most runs have in common. Other runs are taken over as well, but more slowly.
struct UsualRun {
  /// The directory of Program::output_directory.
  std::string output_directory;
};

/// Returns the interpreter to start. Its kind is kNone if the language has no warm start.
jail::Warm WarmFor(const launch::Installation& installation, const Preloads& preloads,
                   const UsualRun& usual);

/// Returns whether the program finds the same conditions in that interpreter as after a cold start.
/// If not, the caller must start it cold.
bool TakesOver(const launch::Installation& installation, const jail::RunRequest& run);

}  // namespace polybox::exec
