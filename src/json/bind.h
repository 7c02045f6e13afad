// Converts between C++ structs and JSON: Decode(), Encode() and SchemaOf(). Supported are booleans,
// numbers, strings, enums with names, optionals, vectors, maps with string keys, and raw values. A
// struct is supported if it has a function Members() (json/member.h). Any thread.
//
// Decode() is strict. It never converts a type, and it checks ranges. A member that the struct does
// not have is refused with the nearest known name, unless the caller asks to skip it.
#pragma once

#include <string_view>
#include <utility>

#include "base/result.h"
#include "json/codec.h"
#include "json/reading.h"
#include "json/value.h"

namespace polybox::json {

/// Returns `value` as a T, or an error with all problems. `what` names the value in these problems:
/// "arguments".
template <typename T>
Result<T> Decode(const Value& value, std::string_view what,
                 UnknownMembers unknown = UnknownMembers::kRefuse) {
  Reading reading(what, unknown);
  T decoded{};
  Codec<T>::Decode(value, {}, reading, decoded);
  if (!reading.ok()) return reading.ToError();
  return decoded;
}

/// Returns `value` as JSON. Empty optionals are left out. Bytes that are not UTF-8 become U+FFFD.
template <typename T>
Value Encode(const T& value) {
  return Codec<T>::Encode(value);
}

/// Returns a JSON Schema (2020-12) that accepts the values which Decode() accepts.
template <typename T>
Object SchemaOf() {
  return Codec<T>::Schema({});
}

}  // namespace polybox::json
