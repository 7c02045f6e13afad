// A process of a lease (lease.h): its streams, its terminal, signals, usage, and how it ends. The
// process and all its descendants are its tree. A tree ends as a whole, daemons in sessions of
// their own included, and no other process of the lease ends with it.
//
// In grade full this holds against hostile processes. In the other grades it holds unless a process
// attacks the supervisor of its tree (init/supervisor.h). What such a tree leaves ends with the
// lease.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "base/units.h"
#include "jail/outcome.h"
#include "jail/slot.h"

namespace polybox::jail {

class ProcessState;

/// In characters.
struct TerminalSize {
  std::uint16_t rows = 24;
  std::uint16_t columns = 80;
};

struct ProcessRequest {
  /// argv[0] is a path in the jail.
  std::vector<std::string> argv;
  std::vector<std::string> env;
  std::string directory = kWorkDirectory;
  /// Memory, processes and processor time are those of the whole tree. A wall time or a processor
  /// time of 0 is no limit. The wall time counts until the main process has ended. The limits of
  /// the scratch directories (`disk`, `inodes`) have no effect here: all processes share them.
  RunLimits limits;
  /// The process gets a new terminal as its streams and as its controlling terminal.
  std::optional<TerminalSize> terminal = {};
  /// Borrowed; -1 is a new pipe, whose other end the Process has. Unused with a terminal.
  int stdin_fd = -1;
  int stdout_fd = -1;
  int stderr_fd = -1;
};

/// What all processes of a tree have used so far.
struct ProcessUsage {
  Duration cpu_time{};
  std::optional<Bytes> memory_peak;
};

/// The server's ends of the streams that the request did not name; empty where there is none.
struct ProcessStreams {
  UniqueFd stdin_pipe;
  UniqueFd stdout_pipe;
  UniqueFd stderr_pipe;
  UniqueFd terminal;
};

/// Only Lease::Start() makes a Process. Different threads may use different processes of a lease.
/// The constant functions and End() may be called from any thread at any time; for the others, one
/// thread at a time.
class Process {
 public:
  Process(std::shared_ptr<ProcessState> state, ProcessStreams streams);
  Process(Process&&) noexcept;
  Process& operator=(Process&&) = delete;
  /// Ends the tree.
  ~Process();

  ProcessStreams& streams() { return streams_; }
  /// Tells the programs on the terminal its new size. An error where there is no terminal.
  Status Resize(TerminalSize size);

  /// Sends a signal to the main process. With a terminal, SIGINT, SIGQUIT and SIGTSTP go to the
  /// terminal's foreground process group instead, as if typed. An error when the main process has
  /// ended.
  Status Signal(int number) const;

  /// Waits for the end of the main process, for `most` at the longest. Its children may go on.
  /// Returns how it ended, or nothing if it still runs. A program that could not be started is the
  /// outcome kSetupFailed. A tree that was ended by End() is kCancelled.
  std::optional<Outcome> Wait(Duration most) const;
  /// Waits for the end of the tree, for `most` at the longest. Returns whether it has ended.
  bool WaitForTree(Duration most) const;
  bool TreeIsAlive() const { return !WaitForTree(Duration::zero()); }
  ProcessUsage Usage() const;

  /// Kills all processes of the tree and waits for their end. An error when some process did not
  /// end within ten seconds, or when the supervisor was attacked.
  Status End() const;

 private:
  std::shared_ptr<ProcessState> state_;
  ProcessStreams streams_;
};

}  // namespace polybox::jail
