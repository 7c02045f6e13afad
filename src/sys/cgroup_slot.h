// SlotControl is the interface behind SlotCgroup, implemented once for each cgroup version. Only
// for cgroup*.cc and their tests; other code uses cgroup.h.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sys/cgroup.h"
#include "sys/cgroup_file.h"

namespace polybox::sys {

/// The methods have the meaning that SlotCgroup (cgroup.h) documents for the methods of the same
/// names. A version implements what differs; the order of the steps between two runs, and the files
/// that both versions have, are here.
class SlotControl {
 public:
  virtual ~SlotControl() = default;

  const CgroupCapabilities& capabilities() const { return capabilities_; }
  Status NextStep();
  Status DropLeftovers(Inside inside);
  Status KillAll();

  virtual int StarterFd() const { return -1; }
  virtual Result<pid_t> Starter() const {
    return Error(ErrorKind::kUnavailable, "only on cgroup v2 has the starter a cgroup");
  }
  virtual Status AllowStarter(uid_t /*owner*/) { return {}; }
  virtual Status SetLimits(const CgroupLimits& limits) = 0;
  virtual Status ResetCounters() = 0;
  virtual bool Renews() const = 0;
  virtual Result<CgroupUsage> ReadUsage() const = 0;
  virtual std::vector<int> JoinFds() const = 0;
  virtual int CloneFd() const = 0;
  virtual Duration CpuTime() const = 0;
  virtual void LiftCpuLimit() const = 0;
  virtual int OomFd() const = 0;
  virtual bool TakeOomEvent() = 0;
  virtual Result<std::unique_ptr<SlotControl>> MakeInner(const std::string& name) const = 0;
  virtual Result<bool> KillRound() const = 0;

 protected:
  /// Gives back the page cache that the last run was charged for, if it is worth the time.
  virtual Status DropCache() = 0;
  /// Makes the cgroup anew whose peak the kernel cannot reset. When a process is still inside, the
  /// cgroup stays and a figure may be absent.
  virtual Status Renew() = 0;

  CgroupCapabilities capabilities_;
  /// The limit of processor time per kCpuPeriod.
  LimitFile quota_;
  /// cgroup.kill, where the kernel has it.
  ControlFile kill_;

 private:
  /// Writing the quota starts a new period. Otherwise the next step would wait for the rest of the
  /// period whose quota the last step used up.
  Status StartPeriod();
};

/// The directory of a v1 hierarchy, and those of its controllers that polybox uses.
struct V1Directory {
  std::vector<std::string> controllers;
  CgroupDirectory directory;
};

/// `kill_directory` is in the v2 hierarchy that is mounted beside v1, if there is one.
Result<std::unique_ptr<SlotControl>> OpenV1Slot(std::vector<V1Directory> directories,
                                                std::optional<CgroupDirectory> kill_directory);

/// The cgroups of a slot on v2. A process that clones a child into a cgroup needs write access to
/// that cgroup and to their common ancestor. Therefore `starter` contains the processes that start
/// guests, and `run` has the limits and the guests.
/// An inner cgroup has only `run`.
struct V2Directories {
  std::optional<CgroupDirectory> slot;
  std::optional<CgroupDirectory> starter;
  CgroupDirectory run;
};
Result<std::unique_ptr<SlotControl>> OpenV2Slot(V2Directories directories);

/// The kernel's default period. A shorter period is worse here. A run of a few dozen milliseconds
/// on several threads uses its quota at once. A short period would stop it repeatedly.
inline constexpr std::chrono::microseconds kCpuPeriod = std::chrono::milliseconds(100);

/// The limits as the numbers that the kernel takes. ToKernel() returns an error for an invalid
/// limit.
struct KernelLimits {
  std::int64_t memory = 0;
  std::int64_t swap = 0;
  /// On v1 the second memory limit is for the sum of memory and swap.
  std::int64_t memory_and_swap = 0;
  std::int64_t processes = 0;
  /// Microseconds per kCpuPeriod.
  std::int64_t cpu_quota = 0;
};
Result<KernelLimits> ToKernel(const CgroupLimits& limits);

/// How much memory a run may leave charged without a cleanup. Most of this is memory that the
/// kernel has charged ahead, and reclaiming it takes about a millisecond.
inline constexpr Bytes kLeftoverAllowed = Bytes::MiB(1);

/// The memory that a process needs, with a margin, until it waits for its run. No interpreter that
/// is started ahead fits into less.
inline constexpr Bytes kRoomToWait = Bytes::MiB(16);

/// For a peak that cannot be reset: returns the peak since the moment when it was `before`. Returns
/// nothing when the peak did not move, because the run's own peak can then be any smaller value.
std::optional<std::uint64_t> PeakAbove(std::uint64_t before, std::uint64_t now);
/// The same for processes. One process already waited inside the cgroup at that moment.
std::optional<std::int64_t> ProcessesAbove(std::uint64_t before, std::uint64_t now);
/// A peak above this value hides the peak of a run with fewer processes, and no kernel can reset
/// pids.peak.
inline constexpr std::uint64_t kLeastProcesses = 1;

/// Enables memory, cpu and pids for the v2 cgroups below `directory`. `path` is for messages.
Status EnableControllers(int directory, const std::string& path);

/// Forbids new processes in the cgroup and sends SIGKILL to every process that is inside. Returns
/// whether no process was inside. Needs the pids controller in this hierarchy. Any thread may call
/// it.
Result<bool> KillMembers(const CgroupDirectory& directory);

/// The name of this server's cgroup home: `polybox-<pid>-<start time>` of this process.
Result<std::string> CgroupHomeName();
/// Returns whether `name` is the home of a server whose process has ended. Returns false when this
/// cannot be told.
bool IsOfDeadServer(std::string_view name);

/// The cgroup to which the server moves when its own v2 cgroup must hold no process.
inline constexpr const char* kSelfLeaf = "polybox-self";
/// The cgroup below which homes are made: the server's own cgroup, or its parent when the server is
/// in kSelfLeaf.
std::string CgroupBase(const CgroupHierarchy& hierarchy);

}  // namespace polybox::sys
