// Waiting for a guest: its pod's word, or the limit that is reached first. The server keeps the
// deadlines itself: it is outside the guest's cgroups, so that a guest which has burnt its share of
// the processor cannot make its own end late.
#pragma once

#include <poll.h>
#include <vector>

#include "base/units.h"
#include "sys/cgroup.h"

namespace polybox::jail {

/// What else there is to do while a guest runs, on the thread that waits for it: its streams.
class Attendant {
 public:
  virtual ~Attendant() = default;
  /// Adds what it waits for.
  virtual void Await(std::vector<pollfd>& polled) = 0;
  /// One of those is ready, the others not or also: whatever it does may not block.
  virtual void Attend() = 0;
};

struct WatchLimits {
  Duration wall_time{};
  /// Of all processes together; 0 is no limit.
  Duration cpu_time{};
  /// How fast it can be used up.
  Duration cpu_per_second = std::chrono::seconds(1);
};

enum class Watched {
  kWord,      ///< The pod has something to say, or is gone.
  kWallTime,  ///< Nothing was heard within the wall time.
  kCpuTime,   ///< The processor time was used up.
};

/// `cgroup` is null where there is none: then only the wall time is watched. So may be `attendant`.
Watched WatchPod(int socket, const WatchLimits& limits, const sys::SlotCgroup* cgroup,
                 Attendant* attendant);

}  // namespace polybox::jail
