// Typed units. A size is Bytes, a time is Duration: a bare number never stands for either, and text
// that names one must carry its unit ("256MiB", "1.5s"), so that nobody has to guess what 1024
// meant.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace polybox {

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

/// A whole number and one of B, KiB, MiB, GiB; K, M, G mean the same as KiB, MiB, GiB.
Result<Bytes> ParseBytes(std::string_view text);
/// A number (a fraction is allowed) and one of ms, s, m, h.
Result<Duration> ParseDuration(std::string_view text);

/// A text that is nothing but a number, with the unit that it counts; any other as it is.
std::string WithUnit(std::string_view text, std::string_view unit);

/// The shortest exact form: "64MiB", "1000B". ParseBytes reads it back.
std::string FormatBytes(Bytes bytes);
/// The shortest exact form in ms, s, m or h: "30s", "1500ms". ParseDuration reads it back; what is
/// finer than a millisecond is cut.
std::string FormatDuration(Duration duration);

}  // namespace polybox
