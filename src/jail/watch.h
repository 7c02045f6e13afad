// Waits for a guest: for a message of its cell, or for the first limit that is exceeded. The server
// keeps the deadlines itself, because it is outside the guest's cgroups. A guest that has used up
// its share of the processor cannot delay its own end.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <poll.h>
#include <vector>

#include "base/units.h"
#include "jail/outcome.h"
#include "jail/tree_watch.h"
#include "sys/cgroup.h"

namespace polybox::jail {

/// Work to do on the waiting thread while a guest runs: its streams.
class Attendant {
 public:
  virtual ~Attendant() = default;
  /// Adds the descriptors that it waits for. Returns the time after which Await() is called
  /// again although none of them is ready; kNever if only the descriptors matter.
  virtual std::chrono::nanoseconds Await(std::vector<pollfd>& polled) = 0;
  static constexpr auto kNever = std::chrono::nanoseconds::max();
  /// At least one of the descriptors is ready; any subset may be. Attend() may not block.
  virtual void Attend() = 0;
};

struct WatchLimits {
  Duration wall_time{};
  /// Of all processes together; 0 is no limit.
  Duration cpu_time{};
  /// The fastest rate at which the processor time can be used up.
  Duration cpu_per_second = std::chrono::seconds(1);

  bool operator==(const WatchLimits&) const = default;
};

/// What counts the use of a run: the slot's cgroup, or a TreeWatch where there is no cgroup.
/// Borrowed.
struct Counters {
  const sys::SlotCgroup* cgroup = nullptr;
  TreeWatch* tree = nullptr;
};

/// Deadlines and limits of one run, as of its start. One thread at a time may use an object.
class Watch {
 public:
  using Clock = std::chrono::steady_clock;

  /// The run starts now.
  Watch(const WatchLimits& limits, const Counters& counters);
  /// When to call Check() next.
  Clock::time_point next() const { return std::min(deadline_, next_look_); }
  /// Returns the limit that is exceeded, if any.
  std::optional<End> Check(Clock::time_point now);
  /// The wall time no longer counts.
  void ForgetDeadline() { deadline_ = Clock::time_point::max(); }

 private:
  /// Reads the counter of the run. Sets `wait` to the time until the next look.
  using Look = std::function<std::optional<End>(Clock::duration& wait)>;
  static Look LookAt(const WatchLimits& limits, const Counters& counters);

  Clock::time_point deadline_;
  Clock::time_point next_look_;
  Look look_;
};

/// Waits until `socket` has a message or is closed, and returns true. Returns false when `time` has
/// passed or the attendant was called. `attendant` may be null. `polled` is room that the caller
/// keeps between calls.
bool AwaitMessage(int socket, Watch::Clock::duration time, Attendant* attendant,
                  std::vector<pollfd>& polled);

}  // namespace polybox::jail
