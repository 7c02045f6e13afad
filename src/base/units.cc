#include "base/units.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>

namespace polybox {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t factor;
};

// If two names have the same factor, the first one is printed. The largest factor comes first.
constexpr std::array kByteUnits = {
    Unit{"GiB", 1ULL << 30U},
    Unit{"MiB", 1ULL << 20U},
    Unit{"KiB", 1ULL << 10U},
    Unit{"G", 1ULL << 30U},
    Unit{"M", 1ULL << 20U},
    Unit{"K", 1ULL << 10U},
    Unit{"B", 1},
};
// Factors in milliseconds, the largest first.
constexpr std::array kTimeUnits = {
    Unit{"h", 3'600'000},
    Unit{"m", 60'000},
    Unit{"s", 1000},
    Unit{"ms", 1},
};

constexpr std::string_view kSizeForm =
    R"(a size with its unit, such as "64MiB" (B, KiB, MiB, GiB))";
constexpr std::string_view kTimeForm = R"(a time with its unit, such as "30s" (ms, s, m, h))";

Error Expected(std::string_view form) {
  return Error(ErrorKind::kInvalid, "expected " + std::string(form));
}

template <std::size_t N>
const Unit* FindUnit(const std::array<Unit, N>& units, std::string_view name) {
  for (const Unit& unit : units) {
    if (unit.name == name) return &unit;
  }
  return nullptr;
}

template <std::size_t N>
std::string FormatExact(const std::array<Unit, N>& units, std::uint64_t count,
                        std::string_view smallest) {
  for (const Unit& unit : units) {
    if (count >= unit.factor && count % unit.factor == 0) {
      return std::to_string(count / unit.factor) + std::string(unit.name);
    }
  }
  return "0" + std::string(smallest);
}

/// Parses the number at the start of a text such as "64MiB". Returns its length; the rest is the
/// unit.
template <typename Number>
std::size_t ParseNumber(std::string_view text, Number& number) {
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text[0])) == 0) return 0;
  const std::size_t length = std::min(text.find_first_not_of("0123456789."), text.size());
  const auto [end, error] = std::from_chars(text.data(), text.data() + length, number);
  return error == std::errc() ? static_cast<std::size_t>(end - text.data()) : 0;
}

/// Adds the unit to a text that is only a number. Returns any other text as it is.
std::string WithUnit(std::string_view text, std::string_view unit) {
  const bool bare = text.find_first_not_of("0123456789.") == std::string_view::npos;
  return std::string(text) + (bare ? std::string(unit) : "");
}

}  // namespace

Result<Bytes> ParseBytes(std::string_view text) {
  std::uint64_t number = 0;
  const std::size_t digits = ParseNumber(text, number);
  if (digits == 0) return Expected(kSizeForm);
  const Unit* unit = FindUnit(kByteUnits, text.substr(digits));
  if (unit == nullptr) return Expected(kSizeForm);
  // The size must fit into a signed 64-bit number.
  if (number > std::numeric_limits<std::int64_t>::max() / unit->factor) {
    return Error(ErrorKind::kInvalid, "expected a size below 8 EiB");
  }
  return Bytes(number * unit->factor);
}

Result<Duration> ParseDuration(std::string_view text) {
  double number = 0;
  const std::size_t digits = ParseNumber(text, number);
  if (digits == 0) return Expected(kTimeForm);
  const Unit* unit = FindUnit(kTimeUnits, text.substr(digits));
  if (unit == nullptr) return Expected(kTimeForm);
  const double milliseconds = number * static_cast<double>(unit->factor);
  constexpr double kLongest = 100.0 * 365 * 24 * 3'600'000;  // a century: far from overflow
  if (milliseconds > kLongest) {
    return Error(ErrorKind::kInvalid, "expected a time below 100 years");
  }
  return Duration(std::llround(milliseconds * 1e6));
}

Result<Bytes> ParseTypedBytes(std::string_view text) {
  return ParseBytes(WithUnit(text, "B"));
}

Result<Duration> ParseTypedDuration(std::string_view text) {
  return ParseDuration(WithUnit(text, "s"));
}

std::string FormatBytes(Bytes bytes) {
  return FormatExact(kByteUnits, bytes.count(), "B");
}

std::string FormatDuration(Duration duration) {
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(duration).count();
  return FormatExact(kTimeUnits, static_cast<std::uint64_t>(milliseconds), "s");
}

}  // namespace polybox
