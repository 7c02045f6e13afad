#include "verify/json_text.h"

#include <cctype>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "base/printable.h"
#include "base/units.h"
#include "json/line_parser.h"
#include "json/parse.h"
#include "verify/not_this.h"
#include "verify/text.h"

namespace polybox::verify {
namespace {

/// eslint repeats the source of each file with findings, so that the reports of large projects have
/// tens of megabytes.
constexpr json::ParseLimits kDocumentLimits = {
    .size = Bytes::MiB(256), .depth = 128, .memory = Bytes::MiB(1024)};

/// Returns the text from the line on which a JSON document can begin; "" if there is none. "[info]"
/// begins no document.
std::string_view FromDocument(std::string_view text) {
  while (!text.empty()) {
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos) return {};
    const std::string_view begin = text.substr(first);
    const bool word = begin.size() > 1 && (std::isalpha(static_cast<unsigned char>(begin[1])) != 0);
    if (begin[0] == '{' || (begin[0] == '[' && !word)) return begin;
    const std::size_t end = begin.find('\n');
    if (end == std::string_view::npos) return {};
    text = begin.substr(end + 1);
  }
  return {};
}

}  // namespace

Result<json::Value> ReadDocument(std::string_view text, std::string_view what) {
  const std::string_view document = FromDocument(text);
  if (document.empty()) {
    return NotThis(what, Trim(text).empty() ? "the output is empty"
                                            : fmt::format("it begins with \"{}\"",
                                                          PrintableForQuotes(Trim(text), 80)));
  }
  Result<json::Value> value = json::Parse(document, kDocumentLimits);
  if (!value.ok()) {
    // Tools copy bytes of sources that are not UTF-8.
    if (const std::string repaired = ToUtf8(document); repaired != document) {
      value = json::Parse(repaired, kDocumentLimits);
    }
  }
  if (!value.ok()) return NotThis(what, value.error().message());
  return value;
}

Status ReadJsonLines(std::string_view text, std::string_view what, const LineVisitors& visitors) {
  if (!EndsInLine(text)) return NotThis(what, "the output ends within a line");
  json::LineParser parser;
  std::string_view line;
  while (TakeLine(text, line)) {
    if (line.empty()) continue;
    if (line[0] != '{') {
      POLYBOX_RETURN_IF_ERROR(visitors.other(line));
      continue;
    }
    const Result<const json::Object*> object = parser.Parse(line);
    if (!object.ok()) return NotThis(what, object.error().message());
    POLYBOX_RETURN_IF_ERROR(visitors.visit(**object));
  }
  return {};
}

std::string_view TextIn(const json::Object& object, std::string_view name) {
  const json::Value* value = object.if_contains(name);
  if (value == nullptr || !value->is_string()) return {};
  return value->get_string();
}

std::int64_t NumberIn(const json::Object& object, std::string_view name) {
  // Larger numbers are no lines or counts; a double cannot hold all of them.
  constexpr double kLargest = 1e15;
  const json::Value* value = object.if_contains(name);
  if (value == nullptr) return 0;
  if (const auto* whole = value->if_int64()) return *whole;
  if (const auto* real = value->if_double(); real != nullptr && std::abs(*real) < kLargest) {
    return static_cast<std::int64_t>(*real);
  }
  return 0;
}

const json::Object* ObjectIn(const json::Object& object, std::string_view name) {
  const json::Value* value = object.if_contains(name);
  return value == nullptr ? nullptr : value->if_object();
}

const json::Array* ArrayIn(const json::Object& object, std::string_view name) {
  const json::Value* value = object.if_contains(name);
  return value == nullptr ? nullptr : value->if_array();
}

const json::Array& ItemsIn(const json::Object& object, std::string_view name) {
  static const json::Array empty;
  const json::Array* array = ArrayIn(object, name);
  return array != nullptr ? *array : empty;
}

bool TrueIn(const json::Object& object, std::string_view name) {
  const json::Value* value = object.if_contains(name);
  return value != nullptr && value->is_bool() && value->get_bool();
}

Result<const json::Array*> NeedArray(const json::Object& object, std::string_view name,
                                     std::string_view what) {
  if (const json::Array* array = ArrayIn(object, name)) return array;
  return NotThis(what, fmt::format("`{}` is missing or no array", name));
}

Result<const json::Object*> NeedObject(const json::Object& object, std::string_view name,
                                       std::string_view what) {
  if (const json::Object* found = ObjectIn(object, name)) return found;
  return NotThis(what, fmt::format("`{}` is missing or no object", name));
}

Result<std::int64_t> NeedNumber(const json::Object& object, std::string_view name,
                                std::string_view what) {
  const json::Value* value = object.if_contains(name);
  if (value != nullptr && value->is_number()) return NumberIn(object, name);
  return NotThis(what, fmt::format("`{}` is missing or no number", name));
}

Result<const json::Object*> AsObject(const json::Value& value, std::string_view what) {
  if (const json::Object* object = value.if_object()) return object;
  return NotThis(what, fmt::format("{} where an object is expected", json::KindOf(value)));
}

Result<const json::Array*> AsArray(const json::Value& value, std::string_view what) {
  if (const json::Array* array = value.if_array()) return array;
  return NotThis(what, fmt::format("{} where an array is expected", json::KindOf(value)));
}

}  // namespace polybox::verify
