#include "json/checks.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/nearest.h"

namespace polybox::json {
namespace {

// The longest name for which a suggestion is made. Longer names are not typing errors, and the cost
// of a comparison grows with their length.
constexpr std::size_t kLongestTypo = 80;

std::string Suggestion(std::string_view name, const std::vector<std::string_view>& known) {
  return name.size() > kLongestTypo ? "" : DidYouMean(name, known);
}

/// Returns the number of characters of a UTF-8 text: the number of bytes that begin a character.
std::size_t CharacterCount(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

/// Returns the value as an integer if it is one: 5 and 5.0 are, 5.5 and 1e300 are not.
std::optional<std::int64_t> Integer(const Value& value) {
  boost::system::error_code inexact;
  if (value.is_int64() || value.is_uint64()) {
    const auto number = value.to_number<std::int64_t>(inexact);
    return inexact ? std::nullopt : std::optional(number);
  }
  const double* number = value.if_double();
  if (number == nullptr || std::trunc(*number) != *number) return std::nullopt;
  // Beyond 2^53 one double stands for several whole numbers.
  constexpr double kExact = 9007199254740992.0;
  if (std::abs(*number) > kExact) return std::nullopt;
  return static_cast<std::int64_t>(*number);
}

void ComplainOfRange(const Rules& rules, Reading& reading) {
  if (rules.min && rules.max) {
    reading.Complain(fmt::format("must be from {} to {}", *rules.min, *rules.max));
  } else if (rules.min) {
    reading.Complain(fmt::format("must be at least {}", *rules.min));
  } else {
    reading.Complain(fmt::format("must be at most {}", *rules.max));
  }
}

}  // namespace

void MustBe(std::string_view wanted, const Value& value, Reading& reading) {
  reading.Complain(fmt::format("must be {}, not {}", wanted, KindOf(value)));
}

void MustBeOneOf(const std::vector<std::string_view>& names, const Value& value, Reading& reading) {
  std::string problem = fmt::format("must be one of {}", fmt::join(names, ", "));
  if (value.is_string()) problem += Suggestion(value.get_string(), names);
  reading.Complain(problem);
}

std::optional<std::int64_t> WholeNumber(const Value& value, const Rules& rules, Reading& reading) {
  if (!value.is_number()) {
    MustBe("a whole number", value, reading);
    return std::nullopt;
  }
  const std::optional<std::int64_t> number = Integer(value);
  // A double of 1e15 or more is reported as out of range, not as a fraction.
  if (!number && value.is_double() && std::abs(value.get_double()) < 1e15) {
    reading.Complain("must be a whole number");
  } else if (!number || (rules.min && *number < *rules.min) ||
             (rules.max && *number > *rules.max)) {
    ComplainOfRange(rules, reading);
  } else {
    return number;
  }
  return std::nullopt;
}

std::optional<double> Number(const Value& value, const Rules& rules, Reading& reading) {
  if (!value.is_number()) {
    MustBe("a number", value, reading);
    return std::nullopt;
  }
  boost::system::error_code inexact;
  const auto number = value.to_number<double>(inexact);
  if ((rules.min && number < static_cast<double>(*rules.min)) ||
      (rules.max && number > static_cast<double>(*rules.max))) {
    ComplainOfRange(rules, reading);
    return std::nullopt;
  }
  return number;
}

void CheckLength(std::string_view text, const Rules& rules, Reading& reading) {
  if (!rules.min_length && !rules.max_length) return;
  const std::size_t length = CharacterCount(text);
  if (rules.min_length && length < *rules.min_length) {
    reading.Complain(length == 0
                         ? "must not be empty"
                         : fmt::format("must have at least {} characters", *rules.min_length));
  }
  if (rules.max_length && length > *rules.max_length) {
    reading.Complain(
        fmt::format("has {} characters; at most {} are allowed", length, *rules.max_length));
  }
}

bool CheckItems(std::size_t count, const Rules& rules, Reading& reading) {
  if (!rules.max_items || count <= *rules.max_items) return true;
  reading.Complain(fmt::format("has {} items; at most {} are allowed", count, *rules.max_items));
  return false;
}

void CheckNames(const Object& object, const std::vector<std::string_view>& known,
                Reading& reading) {
  for (const auto& [name, value] : object) {
    if (std::ranges::find(known, std::string_view(name)) != known.end()) continue;
    const Reading::Step step(reading, std::string_view(name));
    reading.Complain(reading.NamesNext() ? "is unknown" + Suggestion(name, known) : "");
  }
}

Object NumberSchema(std::string_view type, const Rules& rules) {
  Object schema = {{"type", type}};
  if (rules.min) schema["minimum"] = *rules.min;
  if (rules.max) schema["maximum"] = *rules.max;
  return schema;
}

Object StringSchema(const Rules& rules) {
  Object schema = {{"type", "string"}};
  if (rules.min_length) schema["minLength"] = *rules.min_length;
  if (rules.max_length) schema["maxLength"] = *rules.max_length;
  return schema;
}

}  // namespace polybox::json
