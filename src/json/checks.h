// The parts of the codecs (json/codec.h) that do not depend on a C++ type: checks of a decoded
// value, and parts of a schema. A check that fails adds a problem at the present position of the
// reading.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "json/member.h"
#include "json/reading.h"
#include "json/value.h"

namespace polybox::json {

/// Adds the problem "must be a string, not a number".
void MustBe(std::string_view wanted, const Value& value, Reading& reading);
/// Adds the problem that the value is none of `names`.
void MustBeOneOf(const std::vector<std::string_view>& names, const Value& value, Reading& reading);

/// Returns the number if it is whole (5.0 is) and within the rules. Otherwise returns nothing and
/// adds a problem.
std::optional<std::int64_t> WholeNumber(const Value& value, const Rules& rules, Reading& reading);
/// Returns the number if it is within the rules. Otherwise returns nothing and adds a problem.
std::optional<double> Number(const Value& value, const Rules& rules, Reading& reading);
/// Adds a problem if the text is too short or too long.
void CheckLength(std::string_view text, const Rules& rules, Reading& reading);
/// Returns whether `count` items are allowed. If not, adds a problem.
bool CheckItems(std::size_t count, const Rules& rules, Reading& reading);
/// Adds a problem for each member of `object` that is not in `known`.
void CheckNames(const Object& object, const std::vector<std::string_view>& known, Reading& reading);

/// Return the schema of a number or a string with these rules.
Object NumberSchema(std::string_view type, const Rules& rules);
Object StringSchema(const Rules& rules);

}  // namespace polybox::json
