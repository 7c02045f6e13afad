// SlotControl is what a SlotCgroup does, in the words of one cgroup version. Only for cgroup*.cc
// and their tests; everyone else uses cgroup.h.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sys/cgroup.h"
#include "sys/cgroup_file.h"

namespace polybox::sys {

/// See SlotCgroup for each of these.
class SlotControl {
 public:
  virtual ~SlotControl() = default;

  virtual const CgroupCapabilities& capabilities() const = 0;
  virtual int StarterFd() const { return -1; }
  virtual Result<pid_t> Starter() const {
    return Error(ErrorKind::kUnavailable, "only on cgroup v2 has the starter a cgroup");
  }
  virtual Status AllowStarter(uid_t /*owner*/) { return {}; }
  virtual Status SetLimits(const CgroupLimits& limits) = 0;
  virtual Status ResetCounters() = 0;
  virtual bool Renews() const = 0;
  virtual Status NextStep() = 0;
  virtual Status DropLeftovers(Inside inside) = 0;
  virtual Result<CgroupUsage> ReadUsage() const = 0;
  virtual std::vector<int> JoinFds() const = 0;
  virtual int CloneFd() const = 0;
  virtual Duration CpuTime() const = 0;
  virtual void LiftCpuLimit() const = 0;
  virtual int OomFd() const = 0;
  virtual bool TakeOomEvent() = 0;
  virtual Status KillAll() = 0;
};

/// A directory of a v1 hierarchy and those of its controllers that we use.
struct V1Directory {
  std::vector<std::string> controllers;
  CgroupDirectory directory;
};

/// `kill_directory`: of the v2 hierarchy beside it, if there is one.
Result<std::unique_ptr<SlotControl>> OpenV1Slot(std::vector<V1Directory> directories,
                                                std::optional<CgroupDirectory> kill_directory);

/// Two cgroups in one, because who clones into a cgroup must be allowed to write to it and to the
/// one above both: `starter` is for those who start guests, `run` has the limits and the guests.
struct V2Directories {
  CgroupDirectory slot;
  CgroupDirectory starter;
  CgroupDirectory run;
};
Result<std::unique_ptr<SlotControl>> OpenV2Slot(V2Directories directories);

/// The kernel's default, and better here than a shorter one: a run of a few dozen milliseconds on
/// several threads spends its burst at once, where a short period would stop it again and again.
inline constexpr std::chrono::microseconds kCpuPeriod = std::chrono::milliseconds(100);

/// The limits as numbers for the kernel, or what is wrong with them.
struct KernelLimits {
  std::int64_t memory = 0;
  std::int64_t swap = 0;
  /// On v1 the second memory limit counts both.
  std::int64_t memory_and_swap = 0;
  std::int64_t processes = 0;
  /// Microseconds per kCpuPeriod.
  std::int64_t cpu_quota = 0;
};
Result<KernelLimits> ToKernel(const CgroupLimits& limits);

/// What a run may leave in memory without being cleaned up after: most of it is what the kernel has
/// charged ahead, and dropping it takes about a millisecond.
inline constexpr Bytes kLeftoverAllowed = Bytes::MiB(1);

/// The peak since a moment when a peak that nobody can reset stood at `before`; nothing when it did
/// not move, for then the run's own may be anything below.
std::optional<std::uint64_t> PeakAbove(std::uint64_t before, std::uint64_t now);
/// The same for processes, of which one already waited inside at that moment.
std::optional<std::int64_t> ProcessesAbove(std::uint64_t before, std::uint64_t now);
/// A peak above this hides that of a run with fewer processes, and no kernel resets it.
inline constexpr std::uint64_t kLeastProcesses = 1;

/// `polybox-<pid>-<start time>` of this process.
Result<std::string> CgroupHomeName();
/// Whether `name` is such a name, of a process that is gone. When in doubt, no.
bool IsOfDeadServer(std::string_view name);

/// Where a process moves that must leave its v2 cgroup empty.
inline constexpr const char* kSelfLeaf = "polybox-self";
/// The cgroup below which homes are made: ours, or the one above when we sit in kSelfLeaf.
std::string CgroupBase(const CgroupHierarchy& hierarchy);

}  // namespace polybox::sys
