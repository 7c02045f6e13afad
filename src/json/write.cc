#include "json/write.h"

#include <cmath>

#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include "base/printable.h"

namespace polybox::json {
namespace {

/// Appends the shortest decimal number that is read back as the same double: 0.5, 5.0, 1e+300.
void AppendNumber(std::string& out, double number) {
  if (!std::isfinite(number)) {  // JSON has no such numbers
    out += "null";
    return;
  }
  const std::string text = fmt::format("{}", number);
  out += text;
  if (text.find_first_of(".e") == std::string::npos) out += ".0";
}

void Append(std::string& out, const Value& value);

void AppendArray(std::string& out, const Array& array) {
  std::string_view separator = "[";
  for (const Value& item : array) {
    out += separator;
    Append(out, item);
    separator = ",";
  }
  out += array.empty() ? "[]" : "]";
}

void AppendObject(std::string& out, const Object& object) {
  std::string_view separator = "{";
  for (const auto& [name, member] : object) {
    out += separator;
    out += boost::json::serialize(name);
    out += ':';
    Append(out, member);
    separator = ",";
  }
  out += object.empty() ? "{}" : "}";
}

void Append(std::string& out, const Value& value) {
  if (const double* number = value.if_double()) return AppendNumber(out, *number);
  if (const Array* array = value.if_array()) return AppendArray(out, *array);
  if (const Object* object = value.if_object()) return AppendObject(out, *object);
  out += boost::json::serialize(value);
}

}  // namespace

std::string Write(const Value& value) {
  std::string text;
  Append(text, value);
  return text;
}

Value Text(std::string_view bytes) {
  return Value(ToUtf8(bytes));
}

}  // namespace polybox::json
