// The types of JSON values. They are those of Boost.JSON. Users of this library use these names
// instead of those of Boost.JSON.
#pragma once

#include <string_view>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

namespace polybox::json {

using Value = boost::json::value;
using Object = boost::json::object;
using Array = boost::json::array;

/// Returns "an object", "a string", "null" and so on, for sentences about a value of the wrong
/// type.
std::string_view KindOf(const Value& value);

}  // namespace polybox::json
