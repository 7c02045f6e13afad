// A slot: a jail that is made once (20 ms at most) and takes one run after another. Between
// sessions its scratch directories are emptied, and the next run's namespaces are made ahead of
// time. One thread at a time may use a slot; Signal() alone may be called from any thread.
#pragma once

#include <fcntl.h>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/result.h"
#include "base/unique_fd.h"
#include "base/units.h"
#include "jail/built_slot.h"
#include "jail/init/protocol.h"
#include "jail/outcome.h"
#include "jail/run_limits.h"
#include "jail/spec.h"
#include "jail/watch.h"
#include "jail/watched_tree.h"
#include "sys/cgroup.h"

namespace polybox::jail {

struct RunRequest {
  /// argv[0] is a path in the jail.
  std::vector<std::string> argv;
  std::vector<std::string> env;
  std::string directory = kWorkDirectory;
  RunLimits limits;
  bool one_cpu = false;
  /// Whether the interpreter that the slot starts ahead can run this program.
  bool warm = false;
  /// Borrowed: the guest's standard streams.
  int stdin_fd = -1;
  int stdout_fd = -1;
  int stderr_fd = -1;
  /// Borrowed; called on the thread of Run() while the guest runs. May be null.
  Attendant* attendant = nullptr;
};

struct InputFile {
  /// Relative to the working directory. Missing parent directories are made.
  std::string name;
  /// The file's bytes. With S_IFLNK in the mode it is the target of the link; with S_IFDIR it is
  /// unused.
  std::string content;
  std::uint32_t mode = 0644;
};

class Slot {
 public:
  /// Makes a slot that is ready for its first run. An error names the step of the plan that failed,
  /// and why.
  static Result<Slot> Make(const SlotOptions& options);
  Slot(Slot&& other) noexcept;
  Slot& operator=(Slot&&) = delete;
  /// Kills all processes of the slot and waits for their end.
  ~Slot();

  /// Returns the listener of a spec with egress, for net::EgressProxy; an empty descriptor on a
  /// second call. After each Reset() there is a new listener in a new network namespace. The
  /// previous listener can no longer be reached by any guest.
  UniqueFd TakeEgress() { return std::move(egress_); }

  /// Before a run: writes the files into the working directory.
  Status PutFiles(const std::vector<InputFile>& files);
  /// The same with contents that lie one after the other in `content` (borrowed), from its present
  /// offset on. The kernel copies them; the server does not read them. The scratch space is
  /// enlarged as needed, since these files are the result of an earlier step and not a client's
  /// choice.
  Status PutPacked(const std::vector<init::FileHeader>& files, int content);
  /// Runs one program to its end. An error means that the slot is broken and must be replaced. A
  /// guest that could not be started is an Outcome, not an error.
  Result<Outcome> Run(const RunRequest& request);
  /// Opens the directory `name` in the working directory, or the working directory itself for "",
  /// as the last run left it. The content is untrusted, since a guest wrote it: see
  /// sys/guest_tree.h.
  Result<UniqueFd> OpenDirectory(const std::string& name);
  /// Returns whether the directory `name` exists and is empty. Returns false also when this cannot
  /// be determined; OpenDirectory() then gives the answer.
  bool IsEmpty(const std::string& name) const;
  /// Returns the private memory of the slot's processes while the slot waits for a run.
  Bytes WaitingMemory() const;
  /// After the last step of a session: removes everything of the session from the slot and makes
  /// the next cell. An error means that the slot must be replaced.
  Status Reset();

  /// Between sessions: returns whether the slot init and the next run's cell still run. If not,
  /// they were ended from outside: by an operator, or by the kernel for want of memory.
  bool Alive();

  /// Sends a signal to the guest that Run() waits for, if there is one; SIGKILL ends the whole run.
  /// Any thread may call it.
  void Signal(int number) const;
  pid_t pid() const { return built_.pid(); }
  /// The paths at which guests find their directories.
  const Places& places() const { return built_.places(); }
  /// What guests of this slot share with the host and other slots because the slot could not get
  /// its own, each with the reason. File locks and inotify watches on a shared path are visible
  /// there.
  const std::vector<std::string>& shared() const { return built_.shared(); }

 private:
  struct Live;

  explicit Slot(BuiltSlot built);

  /// Makes the first cell.
  Status Begin(const Spec& spec);
  sys::SlotCgroup* cgroup() { return built_.cgroup(); }
  const sys::SlotCgroup* cgroup() const { return built_.cgroup(); }
  /// Null in grades with namespaces.
  const ScratchHome* home() const { return built_.home(); }
  /// Asks the slot init for the next run's cell; AwaitCell() takes the answer. The two halves let
  /// the caller send another request before it waits.
  enum class Start {
    kCold,
    kIfReady,  ///< Warm if a warm guest costs no extra time.
    kWarm,     ///< Warm if possible at all. Only between sessions, when the slot holds nothing of a
               ///< guest.
  };
  Status AskForCell(Start start);
  Status AwaitCell();
  /// While the slot waits, its cgroup must have the limits of the waiting interpreter.
  bool MustLimitWhoWaits() const { return waiting_limits_ && limits_ != waiting_limits_; }
  Status LimitWhoWaits();
  /// Prepares the cgroup and a new cell for a second step of the same session.
  Status NextStep(Start start);
  Status SetLimits(const RunLimits& limits);
  Status Resize(const RunLimits& limits);
  /// Enlarges the scratch space for these files. The last run may have had less room than they
  /// need.
  Status MakeRoomFor(const std::vector<init::FileHeader>& files);
  Status SendFiles(const std::vector<init::FileHeader>& files, int content) const;
  /// Kills the remaining processes of the run that ended.
  Status Reap();
  /// Waits for an interpreter that was executed in its cell and may still be starting. The start is
  /// no part of the run: neither its time nor its resources count. Returns false when the
  /// interpreter will not become ready.
  bool AwaitInterpreter();
  /// Sends the program to the cell and waits for its end. Returns nothing when the interpreter that
  /// was started ahead has ended before it took the program.
  Result<std::optional<Outcome>> RunInCell(const RunRequest& request);
  /// Waits for a message of the cell. Returns false when the tree exceeds a limit before that.
  bool AwaitWord(WatchedTree& tree, Attendant* attendant) const;
  /// Reads the message that AwaitWord() saw on the cell's socket at `now`, and turns it into an
  /// outcome.
  Result<std::optional<Outcome>> TakeWord(const RunRequest& request, WatchedTree& tree,
                                          WatchedTree::Clock::time_point now);
  /// The root of the run's process tree, for a slot without a cgroup.
  TreeRoots Roots() const;
  bool WasCancelled() const;
  /// Kills all processes of the run, for the reason that `tree` has. Returns the outcome, with what
  /// the processes used until `now`.
  Result<Outcome> Stop(WatchedTree& tree, WatchedTree::Clock::time_point now);
  /// The same for a guest that has not got its program yet.
  Result<Outcome> StopBeforeRun(End reason);
  /// Ends a run whose limit is below what the waiting guest uses. Cgroup v1 refuses such a limit;
  /// cgroup v2 would set it and kill.
  Result<Outcome> EndForWantOfMemory();

  /// The working directory of the present session.
  struct WorkDirectory {
    UniqueFd self;
    /// The slot's root where there are namespaces. Opened before the session's first guest runs,
    /// which can close the working directory to the server.
    UniqueFd parent{::openat(self.get(), "..", O_PATH | O_DIRECTORY | O_CLOEXEC)};
  };

  BuiltSlot built_;
  std::unique_ptr<Live> live_;
  WorkDirectory work_;
  UniqueFd egress_;
  /// The present size of the scratch space.
  Bytes disk_;
  std::int64_t inodes_ = 0;
  /// The limits that the cgroup has now, and the limits that it must have between sessions. The
  /// second are those of the interpreter that waits for the next session; the last session's limits
  /// must not apply to it. Nothing where no interpreter waits.
  std::optional<sys::CgroupLimits> limits_;
  std::optional<sys::CgroupLimits> waiting_limits_;
  /// The size of the scratch space at the begin of a session.
  Bytes first_disk_;
  std::int64_t first_inodes_ = 0;
};

}  // namespace polybox::jail
