// Writes JSON text. Any thread.
#pragma once

#include <string>
#include <string_view>

#include "json/value.h"

namespace polybox::json {

/// Returns the value as compact text on one line. Strings must be UTF-8: see Text(). Numbers have
/// the usual decimal form. Uses a stack frame for each level of arrays and objects.
std::string Write(const Value& value);

/// Returns a string value with these bytes. Bytes that are not UTF-8 become U+FFFD.
Value Text(std::string_view bytes);

/// Returns an array of such string values. `list` is a range of strings or string views.
template <typename List>
Array Texts(const List& list) {
  Array texts;
  for (const auto& text : list) texts.push_back(Text(text));
  return texts;
}

}  // namespace polybox::json
