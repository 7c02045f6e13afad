// A command that a tool has started in the machine of a workspace, with its stored output. A thread
// of the shell takes the output as it comes, so that the command never waits for a reader. The
// command's children keep the shell alive after its end. Any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "base/units.h"
#include "jail/process.h"
#include "machine/machine.h"
#include "shells/event_log.h"
#include "shells/output_log.h"

namespace polybox::shells {

/// The owner of a shell. Only calls for the same workspace by the same caller may use the shell.
struct Owner {
  std::string workspace;
  std::string principal;

  bool operator==(const Owner&) const = default;
};

enum class Streams {
  kMerged,    ///< Standard output and standard error are one stream, in the order of the writes.
  kSeparate,  ///< Each is a stream of its own.
};

enum class Input {
  kNone,  ///< /dev/null.
  kText,  ///< A text, then the end.
  kOpen,  ///< A text, then what Write() sends.
};

struct Watching {
  /// RE2 expressions for lines of the standard error.
  std::vector<std::string> patterns;
  /// 0 is no limit.
  Duration idle_timeout{};
};

struct ShellOptions {
  Owner owner = {};
  /// Runs with bash -c.
  std::string command;
  /// As in machine::Command.
  std::string directory = {};
  Duration timeout{};
  std::optional<jail::TerminalSize> terminal = {};
  Streams streams = Streams::kMerged;
  Input input = Input::kNone;
  std::string input_text = {};
  std::optional<Watching> watching = {};
};

/// Returns the exit code that a tool reports: 124 for a command that ran out of time, as timeout(1)
/// does, otherwise that of a shell.
int ExitCodeOf(const jail::Outcome& outcome);

struct Stream {
  /// "output", "stdout" or "stderr".
  std::string name;
  std::unique_ptr<OutputLog> log;
};

class Shell {
 public:
  static Result<std::shared_ptr<Shell>> Start(machine::Machine& machine, ShellOptions options,
                                              const OutputLogOptions& log);
  Shell(const Shell&) = delete;
  Shell& operator=(const Shell&) = delete;
  /// Ends the tree.
  ~Shell();

  /// A random UUID.
  const std::string& id() const { return id_; }
  const ShellOptions& options() const { return options_; }
  std::chrono::system_clock::time_point started() const { return started_; }
  /// Has at least one stream.
  const std::vector<Stream>& streams() const { return streams_; }
  const OutputLog* FindStream(std::string_view name) const;
  /// Null if nobody watches the command.
  const EventLog* events() const { return events_.get(); }

  /// Waits for the end of the command itself, for `most` at the longest. Then all that it wrote is
  /// stored, whatever its children do.
  std::optional<jail::Outcome> Wait(Duration most);
  /// Returns whether the command or a child of it runs, after waiting `most` for the end of all.
  bool IsAlive(Duration most = Duration::zero()) const { return !process_.WaitForTree(most); }
  /// Waits until `happened` returns true, for `most` at the longest. Looks at each new output, each
  /// event, and at the end.
  void Await(const std::function<bool()>& happened, Duration most);
  /// Calls `changed` on the shell's own thread at each new output, each event, and at the end.
  /// `changed` must not wait. Returns a number for StopTelling().
  std::uint64_t TellChanges(std::function<void()> changed);
  /// Afterwards the function is not called any more.
  void StopTelling(std::uint64_t number);
  /// Ends the command and all its children. Ends nothing if they have ended.
  Status End() const { return process_.End(); }

  /// Appends to what the command reads. Fails if its input is not open, or if the command does not
  /// read what was sent before.
  Status Write(std::string_view text);
  /// The command reads an end after what was sent. On a terminal it is as if Ctrl-D was typed.
  Status CloseInput();
  /// Tells the programs on the terminal its new size. Fails if the command has no terminal.
  Status Resize(jail::TerminalSize size);

 private:
  struct Source {
    UniqueFd own;
    /// The descriptor to read: `own`, or the terminal.
    int fd = -1;
    OutputLog* log = nullptr;
    bool is_watched = false;
    bool is_open = true;
  };

  struct Parts {
    ShellOptions options;
    std::chrono::system_clock::time_point started;
    jail::Process process;
    std::unique_ptr<EventLog> events;
  };
  explicit Shell(Parts parts);

  Status Connect(std::vector<UniqueFd> readers, const OutputLogOptions& log);
  void Pump(const std::stop_token& stop);
  void PollOnce();
  /// Needs `reading_`. Returns the number of bytes, 0 if there are none now.
  std::size_t ReadOnce(Source& source);
  /// Takes what the ended command has left in its pipes, once.
  void Settle();
  /// Reads what a command that has ended has written. Its children may write for ever, and so may
  /// other processes of the machine, to which the command gave its output. Needs `reading_`.
  void ReadWhatIsThere(Source& source);
  void TakeEnd();
  void CheckIdle();
  void SendInput();
  void Wake() const;
  void Notify();

  const ShellOptions options_;
  const std::string id_;
  const std::chrono::system_clock::time_point started_;
  jail::Process process_;
  std::vector<Stream> streams_;
  const std::unique_ptr<EventLog> events_;
  UniqueFd wake_;

  std::mutex reading_;
  // Guarded by reading_.
  std::vector<Source> sources_;
  std::chrono::steady_clock::time_point last_output_ = std::chrono::steady_clock::now();
  bool settled_ = false;
  /// Only the pump thread uses it.
  bool end_taken_ = false;

  std::mutex input_mutex_;
  // Guarded by input_mutex_.
  UniqueFd input_pipe_;
  std::string input_;
  bool input_open_ = false;
  bool close_input_ = false;

  std::mutex changed_mutex_;
  /// Guarded by changed_mutex_.
  std::uint64_t changes_ = 0;
  std::condition_variable changed_;
  std::mutex told_mutex_;
  /// Guarded by told_mutex_, under which the functions are called.
  std::map<std::uint64_t, std::function<void()>> told_;
  std::uint64_t last_told_ = 0;
  /// Last: it uses the members above.
  std::jthread pump_;
};

}  // namespace polybox::shells
