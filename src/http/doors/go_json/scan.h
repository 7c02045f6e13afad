// Finds the first JSON value in a text, or says why there is none. The messages are those of Go's
// encoding/json, which clients of both dialects know. The scanner keeps only the open brackets, so
// a hostile text costs no more than its own length.
#pragma once

#include <string>
#include <string_view>
#include <variant>

namespace polybox::http {

struct JsonSyntaxError {
  /// "EOF", "unexpected EOF", "invalid character 'x' looking for beginning of value".
  std::string text;
};

/// Returns the value without the blanks around it. Does not check the text behind the value.
std::variant<std::string_view, JsonSyntaxError> FirstJsonValue(std::string_view text);

}  // namespace polybox::http
