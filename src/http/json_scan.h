// Finds the first JSON value in a text and says what is wrong with it if it is none, in the words
// of Go's encoding/json: clients of both dialects know them. Nothing is kept but the open brackets,
// so that a hostile text costs no more than its own length.
#pragma once

#include <string>
#include <string_view>
#include <variant>

namespace polybox::http {

struct JsonSyntaxError {
  /// "EOF", "unexpected EOF", "invalid character 'x' looking for beginning of value".
  std::string text;
};

/// The value without the blanks around it; what follows it is not looked at.
std::variant<std::string_view, JsonSyntaxError> FirstJsonValue(std::string_view text);

}  // namespace polybox::http
