// Reads JSON that tools write: whole documents, and one object per line. Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "base/result.h"
#include "json/value.h"

namespace polybox::verify {

/// Returns the document in `text`. Lines before it are skipped, because package managers print what
/// they run first. Text after it is an error. `what` names the format in errors: "ruff's JSON".
Result<json::Value> ReadDocument(std::string_view text, std::string_view what);

/// Calls `visit` with each line that begins with "{", as an object, and `other` with each other
/// line that is not empty. Stops at the first error of either.
struct LineVisitors {
  std::function<Status(const json::Object& object)> visit;
  std::function<Status(std::string_view line)> other;
};
/// A line that begins with "{" and is no JSON is an error: it was cut, or is not of this format. So
/// is a last line without line feed.
Status ReadJsonLines(std::string_view text, std::string_view what, const LineVisitors& visitors);

/// Return the member of that name; "", 0, false or null if it is absent or of another type. A view
/// is valid as long as the object.
std::string_view TextIn(const json::Object& object, std::string_view name);
std::int64_t NumberIn(const json::Object& object, std::string_view name);
const json::Object* ObjectIn(const json::Object& object, std::string_view name);
const json::Array* ArrayIn(const json::Object& object, std::string_view name);
/// Returns the array of that name; an empty one if it is absent or of another type.
const json::Array& ItemsIn(const json::Object& object, std::string_view name);
bool TrueIn(const json::Object& object, std::string_view name);

/// Return the member, or an error that names it and `what`.
Result<const json::Array*> NeedArray(const json::Object& object, std::string_view name,
                                     std::string_view what);
Result<const json::Object*> NeedObject(const json::Object& object, std::string_view name,
                                       std::string_view what);
Result<std::int64_t> NeedNumber(const json::Object& object, std::string_view name,
                                std::string_view what);
/// Returns the value as an object or an array, or an error that says what it is instead.
Result<const json::Object*> AsObject(const json::Value& value, std::string_view what);
Result<const json::Array*> AsArray(const json::Value& value, std::string_view what);

}  // namespace polybox::verify
