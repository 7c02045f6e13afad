// Writes JSON like Go's encoding/json: compact, with <, >, & and the two Unicode line separators
// escaped, and bytes that are not UTF-8 written as \ufffd.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/units.h"

namespace polybox::http {

class JsonWriter {
 public:
  JsonWriter& BeginObject() { return Open('{'); }
  JsonWriter& EndObject() { return Close('}'); }
  JsonWriter& BeginArray() { return Open('['); }
  JsonWriter& EndArray() { return Close(']'); }
  /// Writes a key of an object; the next call must write its value.
  JsonWriter& Key(std::string_view key);
  JsonWriter& String(std::string_view value);
  JsonWriter& Integer(std::int64_t value) { return Raw(std::to_string(value)); }
  JsonWriter& Bool(bool value) { return Raw(value ? "true" : "false"); }
  JsonWriter& Null() { return Raw("null"); }
  /// Writes text that is already JSON.
  JsonWriter& Raw(std::string_view json);

  std::string Take() && { return std::move(text_); }

 private:
  JsonWriter& Open(char bracket);
  JsonWriter& Close(char bracket);
  void Separate();

  std::string text_;
  bool needs_comma_ = false;
};

/// Returns the text as a JSON string, with quotes.
std::string QuoteJson(std::string_view text);

/// Returns seconds as a JSON number: "30", "0.5".
std::string JsonSeconds(Duration time);

}  // namespace polybox::http
