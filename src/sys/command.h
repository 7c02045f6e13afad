// Runs a trusted program of the host (a compiler that is asked for its version, a package
// installer) and captures what it prints. Not for guests: there is no jail here. Any thread may
// call it.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace polybox::sys {

struct Command {
  /// argv[0] must be a path; see FindOnPath.
  std::vector<std::string> argv = {};
  /// Added to our own environment, replacing what is there.
  std::map<std::string, std::string> env = {};
  std::string directory = "/";
  Duration timeout = std::chrono::seconds(10);
  /// Of each stream; what comes after is read and dropped.
  Bytes keep = Bytes::KiB(256);
};

struct CommandOutput {
  /// -1 when a signal or the timeout ended it.
  int exit_code = -1;
  int signal = 0;
  bool timed_out = false;
  std::string out;
  std::string err;

  bool ok() const { return exit_code == 0; }
  /// Why it was not ok: `exit code 1`.
  std::string Reason() const;
  /// The same with the last line it printed: `exit code 1: no such file`.
  std::string Failure() const;
};

/// Starts the program in its own process group with no input, and waits. When it ends or its time
/// is up, the whole group is killed, so nothing it left behind can hold the call. An error means
/// that it could not be started.
Result<CommandOutput> RunCommand(const Command& command);

/// The first executable file called `name` in the directories of `path` (as $PATH writes them); ""
/// if none. A name with a slash is not looked for, and relative directories are passed over: what
/// they mean depends on where we were started.
std::string FindOnPath(std::string_view name, std::string_view path);

}  // namespace polybox::sys
