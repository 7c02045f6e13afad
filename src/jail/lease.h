// A lease: a slot that is held across processes. All its processes share one PID namespace, one
// network namespace with its loopback interface up, one /tmp and one /proc. They share the writable
// trees of its spec. In grades without namespaces they share a directory and what the host shows. A
// lease lives until its destructor, which ends all processes and removes everything of the lease.
//
// Limits. Each process has limits for its whole tree (ProcessRequest). Where there are cgroups, the
// limits of the lease hold for all its processes together. Without cgroups only the number of
// processes is bounded for the lease, by the kernel.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "jail/built_slot.h"
#include "jail/init/protocol.h"
#include "jail/process.h"
#include "sys/cgroup.h"

namespace polybox::jail {

class Waker;

struct LeaseOptions {
  SlotOptions slot;
  /// For all processes together.
  sys::CgroupLimits limits = {.memory = Bytes::MiB(4096),
                              .swap = Bytes(),
                              .processes = 1024,
                              .cpu_per_second = std::chrono::seconds(64)};
};

/// See init::Seal: a file that guests can read, and not change, rename or remove.
using SealedPath = init::Seal;

class Lease {
 public:
  static Result<std::unique_ptr<Lease>> Make(LeaseOptions options);
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  /// Ends all processes. A Process that outlives its lease says that it has ended.
  ~Lease();

  /// Starts a process. An error means that the lease is broken. A program that could not be started
  /// is an outcome of its Process. Any thread may call it.
  Result<Process> Start(const ProcessRequest& request);

  /// Gives files and directories of the writable trees mounts of their own, while processes run.
  /// Nothing changes for one that is sealed already. Returns 0 or an errno for each. Fails in
  /// grades without namespaces. Any thread may call it.
  Result<std::vector<int>> Seal(const std::vector<SealedPath>& paths);

  /// Returns whether the lease init runs. If not, something outside of the jail has ended it, and
  /// all processes with it.
  bool Alive() const;
  /// Returns whether a process runs. Any thread may call it.
  bool IsBusy() const;
  /// Returns whether nothing but a new lease will do: no process runs, and the last processes were
  /// killed for want of memory. What earlier processes left in /tmp, in shared memory or in message
  /// queues then takes the memory of the lease. Any thread may call it.
  bool IsOutOfMemory() const;
  /// Returns the listener of a spec with egress; an empty descriptor on a second call.
  UniqueFd TakeEgress() { return std::move(egress_); }
  const Places& places() const { return built_.places(); }
  /// See Slot::shared().
  const std::vector<std::string>& shared() const { return built_.shared(); }

 private:
  Lease(BuiltSlot built, const sys::CgroupLimits& limits);

  Status Open();
  Result<std::optional<sys::SlotCgroup>> MakeCgroup(const RunLimits& limits);
  /// Seals as many paths as fit into a message, from `first` on. Appends a result for each.
  Status SealSome(const std::vector<SealedPath>& paths, std::size_t first,
                  std::vector<int>& errors);
  /// Sends an order to the lease init.
  Status SendOrder(const std::string& message, std::vector<int> fds);
  void WatchAll(const std::stop_token& stop);
  /// Lets the process read what its supervisor says. Only the watch thread calls it.
  void Hear(ProcessState& process);
  /// Returns all processes, and forgets those that nobody asks about any more.
  std::vector<std::shared_ptr<ProcessState>> Processes();

  BuiltSlot built_;
  const sys::CgroupLimits limits_;
  UniqueFd egress_;
  /// The pidfd of the lease init.
  UniqueFd init_;
  /// The socket to the lease init. Start() sends on it under `mutex_`; afterwards only the watch
  /// thread polls it.
  UniqueFd control_;
  mutable std::mutex mutex_;
  /// Guarded by `mutex_`.
  std::vector<std::shared_ptr<ProcessState>> processes_;
  /// Guarded by `mutex_`: how many processes were started.
  unsigned started_ = 0;
  std::shared_ptr<const Waker> waker_;
  /// How many of the last processes, without one between them that ended otherwise, were killed for
  /// want of memory.
  std::atomic<int> starved_in_a_row_ = 0;
  /// Hears from all supervisors, keeps the limits, and ends trees. Starts last and ends first.
  std::jthread watcher_;
};

}  // namespace polybox::jail
