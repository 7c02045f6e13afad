// Makes any bytes safe to show on one line: in a terminal, a log or an error message. Control
// characters (which could forge lines or drive a terminal) are escaped as \n or \u001b, bytes that
// are not UTF-8 become U+FFFD, and what is longer than `longest` bytes is cut and ends in "...".
#pragma once

#include <string>
#include <string_view>

namespace polybox {

std::string Printable(std::string_view text, std::size_t longest);
/// The same with quotes and backslashes escaped too, for the inside of a quoted (JSON) string.
std::string PrintableForQuotes(std::string_view text, std::size_t longest);

/// The same text with every byte that is not part of valid UTF-8 replaced by U+FFFD; nothing is
/// escaped or cut.
std::string ToUtf8(std::string_view bytes);

/// The length of the UTF-8 sequence at the start of `text` (not empty), 0 if it is not a valid one.
std::size_t Utf8SequenceLength(std::string_view text);

}  // namespace polybox
