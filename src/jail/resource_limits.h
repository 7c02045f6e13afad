// What a run may use, in the kernel's own terms. Looks at the host where guests are counted with
// others.
#pragma once

#include <vector>

#include "jail/init/protocol.h"
#include "jail/slot.h"

namespace polybox::jail {

/// Of each process; what a cgroup counts better is left to it.
std::vector<init::ResourceLimit> ResourceLimits(const RunLimits& limits, bool has_cgroup);

/// Where guests have our uid without a user namespace of their own, the kernel counts all that this
/// user runs.
RunLimits WithOwnTasks(RunLimits limits);

}  // namespace polybox::jail
