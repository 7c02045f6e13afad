// Keeps slots that wait for the next session, by what they show. Taking a slot that exists costs
// nothing; making one costs milliseconds. If enough slots of one kind exist, a session waits for
// one that is about to be ready. Idle slots are ended to make room for others, or after some time.
// Used by the engine. Any thread.
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
#include "launch/jail_home.h"
#include "net/egress_proxy.h"

namespace polybox::exec {

class SlotPool {
 public:
  /// Limits of the slots that wait for a session.
  struct Limits {
    /// The largest number of idle slots.
    std::size_t most = 0;
    /// The memory that the processes of all idle slots may hold together.
    Bytes memory;
    /// At least `kept` idle slots with this key stay, however long they wait.
    std::string kept_key = {};
    std::size_t kept = 0;
    /// How long a session waits for a slot that is being reset. A reset takes a millisecond or two;
    /// if it takes longer than this, a new slot is the better choice.
    std::chrono::milliseconds patience{100};
    /// Whether a new slot is reset before its first session. The reset waits until the slot's
    /// interpreter has started.
    bool await_warm = false;
    /// Called once for each resource that a new slot shares with the host (Slot::shared). May be
    /// null.
    std::function<void(const std::string&)> on_shared = {};
  };

  /// `home` and `egress` must outlive the pool. `egress` makes the proxies of slots that have a
  /// network; null if no slot has one.
  SlotPool(const launch::JailHome& home, Limits limits, const GuestEgress* egress = nullptr)
      : home_(home), limits_(std::move(limits)), egress_(egress) {}

  /// A slot that the pool has lent, with what belongs to it. The borrower may use the slot until it
  /// calls Give() or Drop().
  struct Loan {
    /// The kind of the slot. Slots with the same key show the same files.
    std::string key;
    /// The number that JailHome::MakeSlot() got. No other slot has it while this one exists.
    unsigned number = 0;
    /// Keeps the package set that the slot shows from being removed. Null if the slot shows none
    /// that can be removed.
    std::shared_ptr<void> shown;
    std::optional<jail::Slot> slot;
    /// The egress proxy of the slot's present or next session; null for none. It is declared after
    /// the slot and is therefore destroyed before it.
    std::unique_ptr<net::EgressProxy> egress = nullptr;
    /// The memory of its processes when it was last measured.
    Bytes memory = {};
    /// The number of sessions that it has served.
    unsigned returns = 0;
  };

  /// Returns what a slot of the key shows. Called only if a new slot must be made.
  using MakeSpec = std::function<jail::Spec()>;

  /// Returns a slot that is ready for a session: an idle one, one that is about to be ready, or a
  /// new one. Blocks meanwhile. A new slot ends when the thread that called this function ends.
  Result<std::unique_ptr<Loan>> Take(const std::string& key, const MakeSpec& spec);
  /// Takes the slot back after a session and resets it for the next one. The reset blocks the
  /// calling thread. A slot that cannot be reset is ended.
  void Give(std::unique_ptr<Loan> loan);
  /// Ends a slot whose session failed.
  void Drop(std::unique_ptr<Loan> loan);
  /// Ends the idle slots that have waited longer than `time`.
  void DropIdle(std::chrono::steady_clock::duration time);

 private:
  /// An idle slot and the time since when it waits.
  struct Idle {
    std::unique_ptr<Loan> loan;
    std::chrono::steady_clock::time_point since;
  };

  /// Counts for one key.
  struct Crew {
    /// All slots: in use, being reset, or idle.
    std::size_t slots = 0;
    /// Sessions that have a slot or wait for one.
    std::size_t wanted = 0;
    /// Slots that are being reset.
    std::size_t returning = 0;
    /// Sessions that wait for one of these.
    std::size_t waiting = 0;
  };

  /// Returns an idle slot, after waiting for one if that is worth it. Returns null if the caller
  /// must make a slot; that slot is included in Crew::slots already.
  std::unique_ptr<Loan> Find(const std::string& key);
  /// Resets the slot and starts its next egress proxy. Returns false if that fails: the slot is
  /// broken.
  bool MakeReady(Loan& loan) const;
  /// Destroys the slot and frees its number. Never with the mutex held: a destructor can take long.
  void End(std::unique_ptr<Loan> loan);
  /// Returns the smallest number that no slot has, and reserves it.
  unsigned TakeNumber();
  /// Starts the egress proxy for the slot's next session.
  Status ServeEgress(Loan& loan) const;
  /// Reports each shared resource of the slot that was not reported before.
  void TellShared(const jail::Slot& slot);
  /// The caller holds the mutex for the functions from here on. TakeIdle() removes and returns the
  /// idle slot of the key that was used last; null when there is none.
  std::unique_ptr<Loan> TakeIdle(const std::string& key);
  /// Forgets the counts of a key without slots. Otherwise the map would grow, because keys contain
  /// the names of package sets.
  void Forget(const std::string& key);
  std::size_t CountIdle(const std::string& key) const;
  /// Returns whether the idle slots exceed their number or memory.
  bool IsTooMuch() const;
  /// Removes and returns the longest-waiting slot of the key with the most idle slots. A burst of
  /// requests in one language therefore does not end the idle slots of other languages. Returns
  /// null when all slots must stay.
  std::unique_ptr<Loan> TakeSurplus();

  const launch::JailHome& home_;
  const Limits limits_;
  const GuestEgress* egress_;
  /// Guards all members below. It is never held while a slot is made, reset or destroyed.
  std::mutex mutex_;
  /// Notified when a reset ends.
  std::condition_variable returned_;
  std::map<std::string, Crew> crews_;
  /// Ordered by waiting time, the longest-waiting slot first.
  std::list<Idle> idle_;
  /// The numbers in use.
  std::set<unsigned> numbers_;
  /// The shared resources that were reported already.
  std::set<std::string> shared_;
};

}  // namespace polybox::exec
