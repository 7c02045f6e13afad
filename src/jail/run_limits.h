// The limits of a run, and what each mechanism that enforces them gets. limits/table.h names the
// mechanisms of each limit. Resource limits are in resource_limits.h.
#pragma once

#include "jail/init/protocol.h"
#include "jail/tree_watch.h"
#include "jail/watch.h"
#include "limits/limits.h"
#include "sys/cgroup.h"

namespace polybox::jail {

/// The limits that a jail enforces during one run.
using RunLimits = limits::RunLimits;

/// Returns the limits that hold for all processes of the run together, for a cgroup.
inline sys::CgroupLimits GroupLimits(const RunLimits& limits) {
  return {.memory = limits.memory,
          .swap = limits.swap,
          .processes = limits.processes,
          .cpu_per_second = limits.cpu_per_second};
}

/// The same for a TreeWatch.
inline TreeLimits GroupTreeLimits(const RunLimits& limits) {
  return {.tasks = limits.processes, .memory = limits.memory, .cpu_time = limits.cpu_time};
}

/// Returns the limits whose excess the server sees while it waits.
inline WatchLimits WatchLimitsOf(const RunLimits& limits) {
  return {.wall_time = limits.wall_time,
          .cpu_time = limits.cpu_time,
          .cpu_per_second = limits.cpu_per_second};
}

/// Returns the size that the scratch directories must have.
inline init::Resize ScratchSize(const RunLimits& limits) {
  return {limits.disk.count(), static_cast<std::uint64_t>(limits.inodes)};
}

}  // namespace polybox::jail
