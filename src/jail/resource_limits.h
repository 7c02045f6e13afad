// The limits of a run in the kernel's own terms (setrlimit). ResourceLimits() also reads how many
// processes the host has where guests share a uid with other processes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "jail/init/protocol.h"
#include "jail/slot.h"

namespace polybox::jail {

/// Returns the limits of each process. A limit that a cgroup enforces better is left out when
/// `counter` is kCgroup.
std::vector<init::ResourceLimit> ResourceLimits(const RunLimits& limits, TaskCounter counter);

/// Returns the hard limits of the calling process, indexed by RLIMIT_* number. A process without
/// CAP_SYS_RESOURCE cannot exceed them.
std::vector<std::uint64_t> OwnHardLimits();

/// Lowers every limit that is above its value in `hard`. Returns a sentence for each limit that was
/// lowered.
std::vector<std::string> LowerTo(const std::vector<std::uint64_t>& hard,
                                 std::vector<init::ResourceLimit>& limits);

struct HeldResources {
  std::vector<init::ResourceLimit> limits;
  /// See LowerTo().
  std::vector<std::string> lowered;
};
/// Returns ResourceLimits(), lowered to the hard limits of this process.
HeldResources HoldResources(const RunLimits& limits, TaskCounter counter);

/// Returns the memory that the start of any program needs; a run with less is refused. If the start
/// were tried, the kernel would run out of memory while the guest still shares the slot init's
/// memory. The kernel then kills all processes that share the memory, the slot init among them.
Bytes LeastMemory(const RunRequest& request);

}  // namespace polybox::jail
