// The ways in which programs write a known value: as it is, in base64, hexadecimal, as part of a
// URL, of JSON or of HTML. The scrubber looks for all of them. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace polybox::secrets {

/// One way to write a value. A match of `text` may have line breaks anywhere inside.
struct Form {
  std::string text;
  /// The character before or after a match also has bits of the value (base64). The scrubber
  /// removes that character too.
  bool shares_before = false;
  bool shares_after = false;
};

/// A shorter value also occurs by chance in ordinary text, which the scrubber would mangle.
inline constexpr std::size_t kShortestValue = 8;

/// Returns all different forms of a value of at least kShortestValue bytes. Each form is at least
/// as long.
std::vector<Form> FormsOf(std::string_view value);

}  // namespace polybox::secrets
