// The cgroups of a jail slot: limits and figures of one run after another, on cgroup v1, v2 or
// both.
//
// Everything of ours lies below `polybox-<pid>-<start time>` inside the cgroup this process is in,
// so that what a dead server left behind can be told from what a living one uses. A slot's
// directories are made once; each run only rewrites limits and resets counters.
//
// One thread at a time per object, except where said otherwise.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "base/result.h"
#include "base/units.h"
#include "sys/cgroup_tree.h"

namespace polybox::sys {

struct CgroupLimits {
  Bytes memory;
  /// Beyond `memory`; 0 means no swap.
  Bytes swap;
  std::int64_t processes = 1;
  /// Processor time per second of wall time: 1s is one processor. At least 10ms.
  Duration cpu_per_second = std::chrono::seconds(1);

  bool operator==(const CgroupLimits&) const = default;
};

/// Since the last ResetCounters. A figure that this kernel cannot give is absent.
struct CgroupUsage {
  /// Includes the page cache and kernel memory of the run; exact to 64 pages per processor, which
  /// is how far ahead the kernel charges.
  std::optional<Bytes> memory_peak;
  /// Their sum is exact. Where the kernel only samples the two (v1), they are the sum, shared out
  /// as the samples say: what the kernel does for a process as well.
  std::optional<Duration> cpu_user;
  std::optional<Duration> cpu_system;
  /// Absent where the kernel does not keep it (before 6.1), or processes share a v1 hierarchy with
  /// another controller and an earlier run had more.
  std::optional<std::int64_t> processes_peak;
  /// Processes that the kernel killed for want of memory, be it this cgroup's limit, one above it
  /// or the machine's.
  std::optional<std::int64_t> oom_kills;
};

struct CgroupCapabilities {
  CgroupVersion version = CgroupVersion::kV1;
  /// Without it swap is whatever the host allows (v1 without memory.memsw, v2 without swap).
  bool limits_swap = false;
  /// OomFd() tells when memory runs out.
  bool oom_event = false;
  /// ReadUsage() tells processor time, in user and in system mode.
  bool counts_cpu = false;
  /// KillAll() works on processes that were cloned into CloneFd().
  bool kill_all = false;
};

class SlotControl;

/// Who may be in a slot's cgroup between two sessions.
enum class Inside {
  kNobody,
  kNextGuest,  ///< Or is on its way, by the descriptors that it was given: they must stay.
};

/// The cgroups of one slot. Its destructor removes the directories and kills nothing: what still
/// runs in them must have been killed and reaped, else they stay until SweepLeftovers.
class SlotCgroup {
 public:
  explicit SlotCgroup(std::unique_ptr<SlotControl> control);
  SlotCgroup(SlotCgroup&&) noexcept;
  SlotCgroup& operator=(SlotCgroup&&) noexcept;
  ~SlotCgroup();

  const CgroupCapabilities& capabilities() const;

  /// On v2 the kernel asks who clones into CloneFd(), so whoever starts the guests must be in this
  /// directory, beside them and outside their limits. It should be cloned into it: to be moved
  /// there takes an RCU grace period. -1 on v1. Borrowed; it lives as long as this object.
  int StarterFd() const;
  /// The one process in there.
  Result<pid_t> Starter() const;
  /// Once, before anything runs: what the starter, which has or will have the uid `owner`, has to
  /// write to becomes its own. On v1 there is nothing to do.
  Status AllowStarter(uid_t owner);
  /// Writes only what changed. Where a cgroup above allows less processor time, that holds.
  Status SetLimits(const CgroupLimits& limits);
  /// Before a process is put inside to wait for its run: raises a memory limit of the last run that
  /// would end it before it is ready. The run's own must be set again.
  Status MakeRoomToWait();
  /// Before a run, when the process that will be the guest already waits inside: figures start at
  /// zero, a past OOM event is forgotten.
  Status ResetCounters();
  /// Whether NextStep() and DropLeftovers() must find nobody inside, or figures will be absent: a
  /// cgroup is made anew there, for the last run left a peak that the kernel cannot reset.
  bool Renews() const;
  /// Between the steps of a session: the next one does not wait for processor time that the last
  /// one used up, and its figures can be its own.
  Status NextStep();
  /// Between sessions, off the hot path (milliseconds): gives back the page
  /// cache that the last run was charged for as well. Files of a tmpfs are not cache: empty it
  /// first. Nothing is made anew where someone may be inside, whatever Renews() says by now.
  Status DropLeftovers(Inside inside = Inside::kNobody);
  Result<CgroupUsage> ReadUsage() const;

  /// v1: the `tasks` file of each controller. The forked child, while it has one thread, writes "0"
  /// to each; that is fast, unlike cgroup.procs or a move from outside, which wait for an RCU grace
  /// period. Empty on v2. Borrowed, until the next NextStep or DropLeftovers.
  std::vector<int> JoinFds() const;
  /// The directory for CLONE_INTO_CGROUP: on v2 all there is to do. On v1 beside a v2 mount it is
  /// what KillAll needs, on top of JoinFds. -1 when there is none. Borrowed, until the next
  /// NextStep or DropLeftovers, which on some kernels put another directory in its place; the
  /// same goes for OomFd().
  int CloneFd() const;

  /// Used since the last ResetCounters; zero when it cannot be read.
  Duration CpuTime() const;
  /// A guest that is being killed dies sooner without its limit; DropLeftovers and NextStep put it
  /// back.
  void LiftCpuLimit() const;

  /// v1: poll for POLLIN, v2: for POLLPRI. -1 when the kernel cannot tell.
  int OomFd() const;
  /// Whether memory ran out since the last call or ResetCounters. On v1 this may have been the
  /// limit of a cgroup above: whether it hit this slot is told by oom_kills.
  bool TakeOomEvent();

  /// SIGKILL to everyone in CloneFd(), in one step that no fork can outrun. An error where
  /// capabilities().kill_all is false.
  Status KillAll();

 private:
  std::unique_ptr<SlotControl> control_;
  std::optional<CgroupLimits> limits_;
};

/// Our directory in each hierarchy, below which slots are made. One per process; it must outlive
/// its slots.
class CgroupHome {
 public:
  /// Takes v2 where it offers memory, cpu and pids, else v1, else says what is missing. On v2 a
  /// cgroup that gives controllers to those below may hold no process: when ours holds just this
  /// one, the process moves to `polybox-self` inside it.
  static Result<CgroupHome> Make(const std::vector<CgroupHierarchy>& hierarchies);
  CgroupHome(CgroupHome&&) noexcept;
  CgroupHome& operator=(CgroupHome&&) noexcept;
  ~CgroupHome();

  /// `name` must be new: it becomes a directory name. Any thread.
  Result<SlotCgroup> MakeSlot(const std::string& name) const;

 private:
  struct Directories;
  explicit CgroupHome(std::unique_ptr<Directories> directories);

  std::unique_ptr<Directories> directories_;
};

struct CgroupSweep {
  /// Directories `polybox-<pid>-<start time>` that are gone now.
  int removed = 0;
  /// Those of dead servers that could not be removed: "path: why".
  std::vector<std::string> kept;
};

/// Removes what dead servers left in the cgroup this process is in, and nothing else. A server
/// lives when its pid runs with its start time, or when anyone holds the lock on its directory,
/// which also holds across PID namespaces. Kills nothing.
CgroupSweep SweepLeftovers(const std::vector<CgroupHierarchy>& hierarchies);

}  // namespace polybox::sys
