// What a run may use, in the kernel's own terms. Looks at the host where guests are counted with
// others.
#pragma once

#include <vector>

#include "jail/init/protocol.h"
#include "jail/slot.h"

namespace polybox::jail {

/// Of each process; what a cgroup counts better is left to it.
std::vector<init::ResourceLimit> ResourceLimits(const RunLimits& limits, bool has_cgroup);

/// As asked for. What it may map grows with it, since that is there to be larger.
void SetMemory(RunLimits& limits, Bytes memory);

/// No program starts with less. Were it tried, the kernel would look for someone to kill while the
/// guest still shares the slot init's memory, and take both.
Bytes LeastMemory(const RunRequest& request);

/// Where guests have our uid without a user namespace of their own, the kernel counts all that this
/// user runs.
RunLimits WithOwnTasks(RunLimits limits);

}  // namespace polybox::jail
