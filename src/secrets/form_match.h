// Compares a form of a known value with a place in a text. The text may break the form with line
// breaks, as base64 and `xxd -p` do, and may end in the middle of it. Any thread.
#pragma once

#include <optional>
#include <string_view>

#include "secrets/text_scan.h"

namespace polybox::secrets {

/// The length of the parts of a form that the scanner looks for. A shorter remainder of a value
/// that was cut is found only at the ends of a text.
inline constexpr std::size_t kAnchorSize = 8;

/// Returns the part of `text` from `begin` that is the form, or the beginning of the form if the
/// line or the text is cut there. The anchor at `begin` has been compared already.
std::optional<Span> MatchOnward(std::string_view text, std::size_t begin, std::string_view form);
/// The same from the end of the form, at `end` in the text, backward.
std::optional<Span> MatchBackward(std::string_view text, std::size_t end, std::string_view form);

}  // namespace polybox::secrets
