// Runs a trusted program of the host (a compiler that prints its version, a package installer) and
// captures its output. Never use this for guests: the program runs without a jail. Any thread may
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
  /// Which variables of the server's environment the program gets.
  enum class Inherit { kAll, kNone };

  /// argv[0] must be a path; FindOnPath() finds one.
  std::vector<std::string> argv = {};
  /// Variables added to those that are inherited. They replace variables of the same name.
  std::map<std::string, std::string> env = {};
  Inherit inherit = Inherit::kAll;
  std::string directory = "/";
  Duration timeout = std::chrono::seconds(10);
  /// How much of each stream to keep. Later output is read and dropped.
  Bytes keep = Bytes::KiB(256);
};

struct CommandOutput {
  /// -1 when a signal or the timeout ended the program.
  int exit_code = -1;
  int signal = 0;
  bool timed_out = false;
  std::string out;
  std::string err;

  bool ok() const { return exit_code == 0; }
  /// Says why ok() is false, such as `exit code 1`.
  std::string Reason() const;
  /// The same as Reason(), with the last line that the program printed: `exit code 1: no such
  /// file`.
  std::string Failure() const;
};

/// Starts the program in its own process group without input, and waits. When the program ends or
/// its timeout passes, the whole group is killed. Leftover processes of the program can therefore
/// not delay the return. An error means that the program could not be started.
Result<CommandOutput> RunCommand(const Command& command);

/// Returns the first executable file called `name` in the directories of `path`, which has the
/// format of $PATH; "" if there is none. A name with a slash is not searched for. Relative
/// directories are skipped, because their meaning depends on the server's working directory.
std::string FindOnPath(std::string_view name, std::string_view path);

}  // namespace polybox::sys
