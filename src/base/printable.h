// Makes any bytes safe to show on one line: in a terminal, a log or an error message. Control
// characters could forge lines or control a terminal; they are escaped as \n or \u001b. Bytes that
// are not UTF-8 become U+FFFD. Text longer than `longest` bytes is cut and ends in "...".
#pragma once

#include <string>
#include <string_view>

namespace polybox {

/// Returns `text` in that form.
std::string Printable(std::string_view text, std::size_t longest);
/// The same as Printable(), with quotes and backslashes escaped too: for the inside of a quoted
/// (JSON) string.
std::string PrintableForQuotes(std::string_view text, std::size_t longest);

/// Returns the text with each byte that is not part of valid UTF-8 replaced by U+FFFD. Nothing is
/// escaped or cut.
std::string ToUtf8(std::string_view bytes);

/// Returns the length of the UTF-8 sequence at the start of `text`, or 0 if it is not valid. `text`
/// must not be empty.
std::size_t Utf8SequenceLength(std::string_view text);

}  // namespace polybox
