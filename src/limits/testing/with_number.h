// Sets a limit of the table to a value, for tests that go through the whole table.
#pragma once

#include "limits/table.h"

namespace polybox::limits::testing {

inline void SetNumber(std::int64_t number, Duration& time) {
  time = std::chrono::milliseconds(number);
}
inline void SetNumber(std::int64_t number, Bytes& size) {
  size = Bytes(static_cast<std::uint64_t>(number));
}
inline void SetNumber(std::int64_t number, std::int64_t& count) {
  count = number;
}

/// Returns `limits` with one of them set to a number of milliseconds, of bytes, or of things.
inline StepLimits WithNumber(const Limit& limit, std::int64_t number, StepLimits limits = {}) {
  VisitValue(limit, limits, [&](auto& value) { SetNumber(number, value); });
  return limits;
}

}  // namespace polybox::limits::testing
