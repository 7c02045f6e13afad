// Types for sizes and times. A size is Bytes, a time is Duration, and neither is ever a plain
// number. A text must contain the unit ("256MiB", "1.5s"), so that nobody has to guess what 1024
// means.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace polybox {

/// A number of bytes.
class Bytes {
 public:
  constexpr Bytes() = default;
  constexpr explicit Bytes(std::uint64_t count) : count_(count) {}
  static constexpr Bytes KiB(std::uint64_t n) { return Bytes(n << 10U); }
  static constexpr Bytes MiB(std::uint64_t n) { return Bytes(n << 20U); }

  constexpr std::uint64_t count() const { return count_; }
  constexpr auto operator<=>(const Bytes&) const = default;

 private:
  std::uint64_t count_ = 0;
};

using Duration = std::chrono::nanoseconds;

/// Parses a whole number and one of B, KiB, MiB, GiB. K, M, G mean the same as KiB, MiB, GiB.
Result<Bytes> ParseBytes(std::string_view text);
/// Parses a number (fractions are allowed) and one of ms, s, m, h.
Result<Duration> ParseDuration(std::string_view text);

/// Parse sizes and times as people type them in flags, variables and the settings file. A number
/// without a unit counts bytes or seconds. In language files the unit is required.
Result<Bytes> ParseTypedBytes(std::string_view text);
Result<Duration> ParseTypedDuration(std::string_view text);

/// Returns the shortest exact form: "64MiB", "1000B". ParseBytes() accepts it.
std::string FormatBytes(Bytes bytes);
/// Returns the shortest exact form in ms, s, m or h: "30s", "1500ms". ParseDuration() accepts it.
/// Fractions of a millisecond are cut off.
std::string FormatDuration(Duration duration);

}  // namespace polybox
