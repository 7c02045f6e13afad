// What is known about one process of a lease. The watch thread of the lease (lease.cc) hears from
// the supervisor, keeps the limits and ends the tree. The handle (process.h) asks, from other
// threads. Every member is guarded by `mutex_`, unless its comment says otherwise.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "jail/from_cell.h"
#include "jail/init/messages.h"
#include "jail/outcome.h"
#include "jail/process.h"
#include "jail/watched_tree.h"
#include "sys/cgroup.h"

namespace polybox::jail {

/// Wakes the watch thread of a lease. Any thread may call Wake().
class Waker {
 public:
  Waker();
  void Wake() const;
  /// Makes fd() not ready. Only the watch thread calls it.
  void Settle() const;
  int fd() const { return event_.get(); }

 private:
  UniqueFd event_;
};

class ProcessState {
 public:
  using Clock = Watch::Clock;

  struct Parts {
    /// The server's end of the socket to the supervisor; it does not block.
    UniqueFd socket;
    /// The tree's own cgroup; nothing in grades without cgroups.
    std::optional<sys::SlotCgroup> cgroup;
    std::shared_ptr<const Waker> waker;
  };
  /// The cgroup of `facts` is that of `parts`. The lease outlives the home of `facts`.
  ProcessState(Parts parts, TreeFacts facts);

  // For the watch thread.
  /// The socket to poll; -1 when nothing more will be heard.
  int socket() const { return parts_.socket.get(); }
  /// Reads one message of the supervisor. Call it when the socket is ready.
  void Hear();
  /// When to call Check() next.
  Clock::time_point Due() const;
  /// Looks at the limits, and goes on with killing.
  void Check(Clock::time_point now);

  /// All processes of the lease have ended. Called when the watch thread has ended.
  void LoseLease();

  // For any thread.
  /// Waits until the program has been started or could not be, for `most` at the longest. Returns
  /// whether that is known.
  bool WaitForStart(Duration most) const;
  UniqueFd TakeTerminal();
  Status Signal(int number) const;
  std::optional<Outcome> Wait(Duration most) const;
  bool WaitForTree(Duration most) const;
  ProcessUsage Usage() const;
  Status End();
  bool gone() const { return WaitForTree(Duration::zero()); }

 private:
  static TreeFacts WithCgroup(TreeFacts facts, const Parts& parts);
  // All functions below need the lock.
  void TakeStarted(init::Received& received);
  void TakeEnded(const init::Ended& ended);
  void TakeTreeEnded(const init::TreeEnded& ended);
  /// The supervisor has closed the socket.
  void TakeClose();
  void BeginEnd(jail::End reason, Clock::time_point now);
  void BeginKilling(Clock::time_point now);
  void KillRound(Clock::time_point now);
  /// No process of the tree is left.
  void SetGone();
  ProcessUsage ReadUsage() const;

  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  /// The socket is written under the lock and read by the watch thread without it: only that thread
  /// closes it.
  Parts parts_;
  /// A look at what the tree uses changes it.
  mutable WatchedTree tree_;
  /// The PID of the supervisor as the kernel reports it; no other process may send what it sends.
  pid_t supervisor_ = -1;
  UniqueFd terminal_;
  bool started_ = false;
  std::optional<Outcome> outcome_;
  bool gone_ = false;
  /// The supervisor ended without a report, and no cgroup says whether its tree has ended.
  bool lost_ = false;
  ProcessUsage usage_;

  Clock::time_point next_kill_ = Clock::time_point::max();
  Clock::time_point last_kill_;
  Clock::duration pause_{};
};

}  // namespace polybox::jail
