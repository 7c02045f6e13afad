// Slots that wait for work, by what they show: taking one that exists costs nothing, making one
// costs milliseconds. Idle slots make room for others, and are given up after a while. Any thread.
#pragma once

#include <chrono>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "base/result.h"
#include "exec/jail_home.h"

namespace polybox::exec {

class SlotPool {
 public:
  /// `home` must outlive the pool. At most `most_idle` slots wait.
  SlotPool(const JailHome& home, std::size_t most_idle) : home_(home), most_idle_(most_idle) {}

  struct Lease {
    /// Slots with the same key show the same.
    std::string key;
    unsigned number = 0;
    /// What it shows stays there for as long as this does; null for what stays anyway.
    std::shared_ptr<void> shown;
    std::optional<jail::Slot> slot;
  };

  /// A slot that is ready for a session. A new one ends when the calling thread does.
  Result<std::unique_ptr<Lease>> Take(const std::string& key, const jail::Spec& spec);
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

  /// The one that was used last; null when none waits.
  std::unique_ptr<Lease> TakeIdle(const std::string& key);
  unsigned TakeNumber();

  const JailHome& home_;
  const std::size_t most_idle_;
  std::mutex mutex_;
  /// The longest-waiting first.
  std::list<Idle> idle_;
  std::set<unsigned> numbers_;
};

}  // namespace polybox::exec
