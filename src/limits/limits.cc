#include "limits/limits.h"

#include <algorithm>
#include <limits>

#include "limits/table.h"

namespace polybox::limits {

void SetMemory(RunLimits& limits, Bytes memory) {
  if (memory > limits.memory) {
    const std::uint64_t more = memory.count() - limits.memory.count();
    const std::uint64_t room =
        std::numeric_limits<std::uint64_t>::max() - limits.address_space.count();
    limits.address_space = Bytes(limits.address_space.count() + std::min(more, room));
  }
  limits.memory = memory;
}

void Apply(const Overrides& overrides, StepLimits& limits) {
  // One rule for every door: a request that changes the wall time alone changes the CPU time to the
  // same value.
  if (overrides.wall_time) limits.cpu_time = *overrides.wall_time;
  if (overrides.memory) SetMemory(limits, *overrides.memory);
  for (const Limit& limit : kLimits) {
    std::visit(
        [&](const auto& member) {
          if (member.change == nullptr) return;
          if (const auto& value = overrides.*member.change) limits.*member.value = *value;
        },
        limit.member);
  }
}

}  // namespace polybox::limits
