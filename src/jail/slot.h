// A slot: a jail that already exists. It is made once (20 ms at most) and takes one run after
// another; between runs its scratch space is emptied and the next run's namespaces are made ahead.
// One thread at a time per slot.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/result.h"
#include "base/unique_fd.h"
#include "base/units.h"
#include "jail/init/messages.h"
#include "jail/init/protocol.h"
#include "jail/outcome.h"
#include "jail/scratch_home.h"
#include "jail/seccomp_policy.h"
#include "jail/spec.h"
#include "jail/watch.h"
#include "sys/cgroup.h"

namespace polybox::jail {

struct RunLimits {
  Duration wall_time = std::chrono::seconds(30);
  Duration cpu_time = std::chrono::seconds(30);
  Bytes memory = Bytes::MiB(256);
  Bytes swap;
  Bytes address_space = Bytes::MiB(1024);
  Bytes file_size = Bytes::MiB(64);
  std::int64_t open_files = 64;
  std::int64_t processes = 32;
  Bytes stack = Bytes::MiB(8);
  Duration cpu_per_second = std::chrono::milliseconds(900);
  /// Of the working directory and of /tmp, each.
  Bytes disk = Bytes::MiB(64);
  std::int64_t inodes = 4096;
};

/// Those that are of all its processes together.
inline sys::CgroupLimits GroupLimits(const RunLimits& limits) {
  return {.memory = limits.memory,
          .swap = limits.swap,
          .processes = limits.processes,
          .cpu_per_second = limits.cpu_per_second};
}

struct RunRequest {
  /// argv[0] is a path in the jail.
  std::vector<std::string> argv;
  std::vector<std::string> env;
  std::string directory = kWorkDirectory;
  RunLimits limits;
  bool one_cpu = false;
  /// The interpreter that the slot starts ahead can take this program over.
  bool warm = false;
  /// Borrowed: what the guest gets as its standard streams.
  int stdin_fd = -1;
  int stdout_fd = -1;
  int stderr_fd = -1;
  /// Borrowed; called on the thread of Run() while the guest runs. May be null.
  Attendant* attendant = nullptr;
};

struct InputFile {
  /// Relative to the working directory; directories are made.
  std::string name;
  /// With S_IFLNK in the mode: where the link points. With S_IFDIR there is none.
  std::string content;
  std::uint32_t mode = 0644;
};

struct SlotOptions {
  Spec spec;
  GuestFilter filter;
  /// Where the slot's cgroup is made; null in grades without cgroups. Must outlive the slot.
  const sys::CgroupHome* cgroups = nullptr;
  /// Distinguishes the slots of this process; it decides the host uid of the guests.
  unsigned number = 0;
  /// For tests: the operation of the plan that fails, -1 for none.
  int fail_at = -1;
};

class Slot {
 public:
  /// An error names the step of the plan that failed and why.
  static Result<Slot> Make(const SlotOptions& options);
  Slot(Slot&& other) noexcept;
  Slot& operator=(Slot&&) = delete;
  /// Ends the slot and all that runs in it.
  ~Slot();

  /// The listener of a spec with egress, for net::EgressProxy. There is a new one after each
  /// Reset(), in a new network namespace; the last one leads nowhere then. Empty the second time.
  UniqueFd TakeEgress() { return std::move(egress_); }

  /// Before a run: puts the files into the working directory.
  Status PutFiles(const std::vector<InputFile>& files);
  /// The same with contents that stand one after the other in `content` (borrowed), from where it
  /// is now: they are copied by the kernel, not by us. There is always room for them: they are what
  /// a step of ours has made.
  Status PutPacked(const std::vector<init::FileHeader>& files, int content);
  /// Runs one program to its end. An error means that the slot is broken and must be replaced; a
  /// guest that could not be started is an Outcome.
  Result<Outcome> Run(const RunRequest& request);
  /// A directory in the working directory ("" is that itself), as the last run left it. What a
  /// guest put there is not to be trusted: see sys/guest_tree.h.
  Result<UniqueFd> OpenDirectory(const std::string& name);
  /// Whether such a directory is there with nothing in it. False when that is not sure: then
  /// OpenDirectory() tells.
  bool IsEmpty(const std::string& name) const;
  /// What its processes hold for themselves while it waits.
  Bytes WaitingMemory() const;
  /// After the last step of a session: nothing of it is left for the next. An error means: replace
  /// the slot.
  Status Reset();

  /// Between sessions: whether its init and the pod of the next run still wait. Whoever ended them
  /// (an operator, the kernel without memory) did so from outside.
  bool Alive();

  /// Sends a signal to the guest that Run() is waiting for, if it is; SIGKILL ends the whole run.
  /// Any thread.
  void Signal(int number) const;
  pid_t pid() const { return pid_; }
  /// Where its guests find things.
  const Places& places() const { return places_; }
  /// What guests of this slot share with the host and other slots because it could not be parted,
  /// each with the reason: locks and watches on it are seen there.
  const std::vector<std::string>& shared() const { return shared_; }

 private:
  struct Live;

  Slot(pid_t pid, UniqueFd socket, std::optional<sys::SlotCgroup> cgroup);

  Status SetUp(const SlotOptions& options);
  /// In grades without namespaces: the slot's directory, and whose the guests are.
  Status UseScratchHome(const SlotOptions& options, init::Setup& setup);
  /// Waits for the slot init to end those below it, where no kernel does.
  void AwaitEnd() const;
  /// Waits until the root is built, and takes note of what could not be parted.
  Status AwaitBuilt(const std::vector<init::Operation>& operations);
  /// Waits for Done; a Failed becomes an error with its step.
  Status AwaitDone(const std::string& intent) const;
  Error ToError(const std::string& intent, const init::Received& received) const;
  /// Asks for the pod of the next run, in two halves so that the caller can ask for more at once.
  enum class Start {
    kCold,
    kIfReady,  ///< Warm if that takes no time.
    kWarm,     ///< Warm if it can be had at all; only when nothing of a guest is there.
  };
  Status AskForPod(Start start);
  Status AwaitPod();
  bool MustLimitWhoWaits() const { return waiting_limits_ && limits_ != waiting_limits_; }
  Status LimitWhoWaits();
  /// Makes room for a second step of the same session.
  Status NextStep(Start start);
  Status SetLimits(const RunLimits& limits);
  Status Resize(const RunLimits& limits);
  /// The last session may have had less room than these files need.
  Status MakeRoomFor(const std::vector<init::FileHeader>& files);
  Status SendFiles(const std::vector<init::FileHeader>& files, int content) const;
  /// Kills what is left of the run that ended.
  Status Reap();
  /// An interpreter that was executed in its pod may still be starting. That is no part of the run:
  /// neither its time nor what it uses. False when it will not be ready.
  bool AwaitInterpreter();
  /// Hands the program over and waits for its end. Nothing when the interpreter that was started
  /// ahead has ended before it took the program.
  Result<std::optional<Outcome>> RunInPod(const RunRequest& request);
  Result<std::optional<Outcome>> TakeWord(const RunRequest& request);
  bool WasCancelled() const;
  /// Kills all of the run and says what it used.
  Result<Outcome> Stop(End end);
  /// What waits for its program needs more memory than it may have: cgroup v1 refuses the limit,
  /// where v2 would set it and kill.
  Result<Outcome> EndForWantOfMemory();
  void FillUsage(Outcome& outcome) const;

  pid_t pid_ = -1;
  UniqueFd socket_;
  std::optional<sys::SlotCgroup> cgroup_;
  std::unique_ptr<Live> live_;
  /// The working directory of the present session.
  UniqueFd work_;
  UniqueFd egress_;
  /// In grades without namespaces.
  std::optional<ScratchHome> home_;
  Places places_;
  /// What the kernel counts with the processes of a guest, because they have its uid.
  bool shares_uid_ = false;
  /// For naming the step that failed.
  std::vector<std::string> steps_;
  std::vector<std::string> shared_;
  /// What warm guests get with their program.
  std::string filter_;
  /// The present size of the scratch space.
  Bytes disk_;
  std::int64_t inodes_ = 0;
  /// What the cgroup has now, and must have between sessions: the limits of the last one are no
  /// business of an interpreter that waits for the next. None where there is no such interpreter.
  std::optional<sys::CgroupLimits> limits_;
  std::optional<sys::CgroupLimits> waiting_limits_;
  /// That which a session begins with.
  Bytes first_disk_;
  std::int64_t first_inodes_ = 0;
};

}  // namespace polybox::jail
