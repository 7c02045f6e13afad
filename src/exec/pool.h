// Slots that wait for work, by what they show: taking one that exists costs nothing, making one
// costs milliseconds. Who finds none waits for one that is about to be ready, once there are enough
// of them. Idle slots make room for others, and are given up after a while. Any thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "base/result.h"
#include "exec/guest_egress.h"
#include "exec/jail_home.h"
#include "net/egress_proxy.h"

namespace polybox::exec {

class SlotPool {
 public:
  /// Of slots that wait for work.
  struct Limits {
    std::size_t most = 0;
    /// Of all their processes.
    Bytes memory;
    /// Slots with this key are never fewer than that for lack of work.
    std::string kept_key = {};
    std::size_t kept = 0;
    /// To be made ready takes a millisecond or two; who waits for longer would rather have a new
    /// one.
    std::chrono::milliseconds patience{100};
    /// Called once for each thing that a new slot shares with the host (Slot::shared); may be null.
    std::function<void(const std::string&)> on_shared = {};
  };

  /// `home` must outlive the pool, and so must `egress`: who serves the slots that have a network;
  /// null when none has.
  SlotPool(const JailHome& home, Limits limits, const GuestEgress* egress = nullptr)
      : home_(home), limits_(std::move(limits)), egress_(egress) {}

  struct Lease {
    /// Slots with the same key show the same.
    std::string key;
    unsigned number = 0;
    /// What it shows stays there for as long as this does; null for what stays anyway.
    std::shared_ptr<void> shown;
    std::optional<jail::Slot> slot;
    /// The network of its next session, or of this one; null for none. Ends before the slot.
    std::unique_ptr<net::EgressProxy> egress = nullptr;
    /// What it holds while it waits.
    Bytes memory = {};
    /// How often it has come back.
    unsigned returns = 0;
  };

  /// What a slot shows, asked for when there must be a new one.
  using MakeSpec = std::function<jail::Spec()>;

  /// A slot that is ready for a session. A new one ends when the calling thread does.
  Result<std::unique_ptr<Lease>> Take(const std::string& key, const MakeSpec& spec);
  /// After a session: made ready for the next, off the request's path. A slot that cannot be is
  /// replaced by none.
  void Give(std::unique_ptr<Lease> lease);
  /// After a session that broke it.
  void Drop(std::unique_ptr<Lease> lease);
  /// Ends those that have waited longer than `time`.
  void DropIdle(std::chrono::steady_clock::duration time);

 private:
  struct Idle {
    std::unique_ptr<Lease> lease;
    std::chrono::steady_clock::time_point since;
  };

  /// The slots with one key.
  struct Crew {
    /// All of them: in use, on their way back, or idle.
    std::size_t slots = 0;
    /// Sessions that have one or are about to.
    std::size_t wanted = 0;
    /// Being made ready for the next session.
    std::size_t returning = 0;
    /// Sessions that wait for those.
    std::size_t waiting = 0;
  };

  /// One that is ready, now or before long; null when a new one is to be made, which counts
  /// already.
  std::unique_ptr<Lease> Find(const std::string& key);
  /// For the next session, or for none: then it is broken.
  bool MakeReady(Lease& lease) const;
  /// One that nobody wants any more.
  void End(std::unique_ptr<Lease> lease);
  unsigned TakeNumber();
  /// Ahead of the session, off the request's path.
  Status ServeEgress(Lease& lease) const;
  void TellShared(const jail::Slot& slot);
  /// These with the mutex held.
  /// The one that was used last; null when none waits.
  std::unique_ptr<Lease> TakeIdle(const std::string& key);
  /// Keys come and go with package sets.
  void Forget(const std::string& key);
  std::size_t CountIdle(const std::string& key) const;
  bool IsTooMuch() const;
  /// The longest-waiting of those that there are most of: a burst in one language costs the others
  /// nothing. Null when all must stay.
  std::unique_ptr<Lease> TakeSurplus();

  const JailHome& home_;
  const Limits limits_;
  const GuestEgress* egress_;
  std::mutex mutex_;
  std::condition_variable returned_;
  std::map<std::string, Crew> crews_;
  /// The longest-waiting first.
  std::list<Idle> idle_;
  std::set<unsigned> numbers_;
  /// What was told already.
  std::set<std::string> shared_;
};

}  // namespace polybox::exec
