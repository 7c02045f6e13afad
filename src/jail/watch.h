// Waiting for a guest: its pod's word, or the limit that is reached first. The server keeps the
// deadlines itself: it is outside the guest's cgroups, so that a guest which has burnt its share of
// the processor cannot make its own end late.
#pragma once

#include "base/units.h"
#include "sys/cgroup.h"

namespace polybox::jail {

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

/// `cgroup` is null where there is none: then only the wall time is watched.
Watched WatchPod(int socket, const WatchLimits& limits, const sys::SlotCgroup* cgroup);

}  // namespace polybox::jail
