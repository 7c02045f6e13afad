// The cgroups of a jail slot: limits and figures of one run after another, on cgroup v1, v2 or
// both.
// All directories of a server are below `polybox-<pid>-<start time>` in the cgroup of the server's
// process. The name distinguishes what a dead server left behind from what a living server uses. A
// slot's directories are made once; each run only rewrites limits and resets counters.
// One thread at a time may use an object, except where a comment says otherwise.
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
  /// Swap beyond `memory`; 0 means no swap.
  Bytes swap;
  std::int64_t processes = 1;
  /// Processor time per second of wall time: 1s is one processor. The least value is 10ms.
  Duration cpu_per_second = std::chrono::seconds(1);

  bool operator==(const CgroupLimits&) const = default;
};

/// Figures since the last ResetCounters(). A figure that this kernel cannot give is absent.
struct CgroupUsage {
  /// Includes the page cache and kernel memory of the run. Exact to 64 pages per processor, which
  /// is how far ahead the kernel charges.
  std::optional<Bytes> memory_peak;
  /// User plus system time is exact. Where the kernel only samples the two (v1), the exact sum is
  /// divided in proportion to the samples, as the kernel does for a process.
  std::optional<Duration> cpu_user;
  std::optional<Duration> cpu_system;
  /// Absent where the kernel does not keep this figure (before 6.1). Also absent where a v1
  /// hierarchy has another controller beside pids and an earlier run had more processes.
  std::optional<std::int64_t> processes_peak;
  /// Processes that the kernel killed for lack of memory. The cause may be the limit of this
  /// cgroup, the limit of a cgroup above, or the machine's memory.
  std::optional<std::int64_t> oom_kills;
};

struct CgroupCapabilities {
  CgroupVersion version = CgroupVersion::kV1;
  /// Without this, guests may use as much swap as the host allows (v1 without memory.memsw, v2
  /// without swap).
  bool limits_swap = false;
  /// OomFd() reports when memory runs out.
  bool oom_event = false;
  /// ReadUsage() reports processor time in user and in system mode.
  bool counts_cpu = false;
  /// Whether KillAll() reaches processes that were cloned into CloneFd().
  bool kill_all = false;
};

class SlotControl;

/// Which processes may be in a slot's cgroup between two sessions.
enum class Inside {
  kNobody,
  kNextGuest,  ///< The next guest, or the process that is about to enter by its descriptors of this
               ///< cgroup. The cgroup must stay.
};

/// The cgroups of one slot. The destructor removes the directories and kills no process. The owner
/// must first kill and reap all processes inside, else the directories stay until SweepLeftovers().
class SlotCgroup {
 public:
  explicit SlotCgroup(std::unique_ptr<SlotControl> control);
  SlotCgroup(SlotCgroup&&) noexcept;
  SlotCgroup& operator=(SlotCgroup&&) noexcept;
  ~SlotCgroup();

  const CgroupCapabilities& capabilities() const;

  /// The directory for the process that starts guests; -1 on v1. On v2 the kernel checks the
  /// permissions of a process that clones into CloneFd(). The starter must therefore be in this
  /// directory, next to the guests and outside their limits. Clone the starter into the directory:
  /// moving it there takes an RCU grace period. Borrowed; valid as long as this object.
  int StarterFd() const;
  /// The PID of the one process in StarterFd().
  Result<pid_t> Starter() const;
  /// Makes the files that the starter must write belong to `owner`, the starter's present or later
  /// uid. Call once, before any process runs. Does nothing on v1.
  Status AllowStarter(uid_t owner);
  /// Writes only the limits that changed. If a cgroup above allows less processor time, that limit
  /// applies.
  Status SetLimits(const CgroupLimits& limits);
  /// Raises the memory limit of the last run when it could kill a process before that process is
  /// ready. Call before a process enters to wait for its run. The caller must set the run's own
  /// limits again.
  Status MakeRoomToWait();
  /// Sets the figures to zero and forgets a past OOM event. Call before a run, when the process
  /// that becomes the guest already waits inside.
  Status ResetCounters();
  /// Whether NextStep() and DropLeftovers() make a new cgroup, because the last run left a peak
  /// that the kernel cannot reset. If true, no process may be inside during these calls, or figures
  /// will be absent.
  bool Renews() const;
  /// Call between the steps of a session. The next step does not wait for processor time that the
  /// last step used up, and gets its own figures.
  Status NextStep();
  /// Call between sessions and not while a request waits: it takes milliseconds. Gives back the
  /// page cache that the last run was charged for. Files of a tmpfs are not cache, so empty a tmpfs
  /// first. With Inside::kNextGuest no cgroup is made anew, whatever Renews() returns.
  Status DropLeftovers(Inside inside = Inside::kNobody);
  Result<CgroupUsage> ReadUsage() const;

  /// v1: the `tasks` file of each controller; empty on v2. The forked child writes "0" to each file
  /// while the child has one thread. This is fast; cgroup.procs or a move from outside waits for an
  /// RCU grace period. Borrowed, until the next NextStep() or DropLeftovers().
  std::vector<int> JoinFds() const;
  /// The directory for CLONE_INTO_CGROUP; -1 when there is none. On v2 this is enough to join. On
  /// v1 beside a v2 mount KillAll() needs it in addition to JoinFds(). Borrowed, until the next
  /// NextStep() or DropLeftovers(), which on some kernels replace the directory. The same applies
  /// to OomFd().
  int CloneFd() const;

  /// Processor time since the last ResetCounters(); zero when it cannot be read.
  Duration CpuTime() const;
  /// Removes the processor limit, because a guest that is being killed then dies sooner.
  /// DropLeftovers() and NextStep() restore the limit.
  void LiftCpuLimit() const;

  /// The descriptor that reports that memory ran out: poll for POLLIN on v1 and for POLLPRI on v2.
  /// -1 when the kernel cannot report this.
  int OomFd() const;
  /// Whether memory ran out since the last call or ResetCounters(). On v1 the limit may have been
  /// that of a cgroup above; oom_kills tells whether this slot lost a process.
  bool TakeOomEvent();

  /// Makes cgroups inside those of this slot, with limits and figures of their own. This slot's
  /// limits then hold for all inner cgroups together, and no process may run in this slot's own
  /// cgroup. The inner cgroups must be destroyed first.
  Result<SlotCgroup> MakeInner(const std::string& name) const;
  /// For a cgroup that is not used again: forbids new processes and sends SIGKILL to all that are
  /// inside. Returns whether the cgroup was empty. A process that was being made may escape one
  /// round, so call this until it returns true. Any thread may call it.
  Result<bool> KillRound() const;

  /// Sends SIGKILL to every process in CloneFd(), atomically, so that no fork escapes. Returns an
  /// error where capabilities().kill_all is false.
  Status KillAll();

 private:
  std::unique_ptr<SlotControl> control_;
  std::optional<CgroupLimits> limits_;
};

/// The server's directory in each hierarchy, below which slots are made. A process has one
/// CgroupHome, which must outlive its slots.
class CgroupHome {
 public:
  /// Uses v2 if it offers memory, cpu and pids, else v1, else returns what is missing. On v2 a
  /// cgroup that passes controllers to its children may hold no process. If this process is the
  /// only one in its cgroup, it therefore moves to `polybox-self` inside that cgroup.
  static Result<CgroupHome> Make(const std::vector<CgroupHierarchy>& hierarchies);
  CgroupHome(CgroupHome&&) noexcept;
  CgroupHome& operator=(CgroupHome&&) noexcept;
  ~CgroupHome();

  /// Makes the cgroups of a slot. `name` must be new, because it becomes a directory name. Any
  /// thread may call it.
  Result<SlotCgroup> MakeSlot(const std::string& name) const;

 private:
  struct Directories;
  explicit CgroupHome(std::unique_ptr<Directories> directories);

  std::unique_ptr<Directories> directories_;
};

struct CgroupSweep {
  /// How many directories `polybox-<pid>-<start time>` were removed.
  int removed = 0;
  /// Directories of dead servers that could not be removed, as "path: reason".
  std::vector<std::string> kept;
};

/// Removes the cgroups that dead servers left in this process's cgroup, and no others. Kills no
/// process. A server counts as living when a process with its pid and start time exists, or when
/// any process holds the lock on its directory. The lock also works across PID namespaces.
CgroupSweep SweepLeftovers(const std::vector<CgroupHierarchy>& hierarchies);

}  // namespace polybox::sys
