// Texts of tools: lines, numbers, paths, and the bounded form in which reports keep them. Any
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "verify/report.h"

namespace polybox::verify {

/// The longest file, test name or rule of a report. The kernel's longest path is 4,096 bytes.
inline constexpr std::size_t kLongestName = 4096;
/// The longest message. Compilers explain template errors in some thousand bytes.
inline constexpr std::size_t kLongestMessage = 16'384;
/// The longest captured output of a failure: enough for a stack trace with the log before it.
inline constexpr std::size_t kLongestOutput = 65'536;
/// The longest diff of a file. A file that is not formatted at all appears twice in its diff.
inline constexpr std::size_t kLongestDiff = 262'144;

/// Returns `text` as reports keep it: valid UTF-8 without terminal sequences and control characters
/// (but with line feeds and tabs), without white space at its ends. A longer text keeps its
/// beginning and its end, with a line between them that says how many bytes were left out.
std::string Kept(std::string_view text, std::size_t longest);

/// Returns the text without terminal sequences (colors) and control characters.
std::string WithoutTerminal(std::string_view text);

/// Returns the name of a file or a test: as Kept(), but a longer name is only cut.
std::string KeptName(std::string_view name);

/// Returns the file relative to `root` if it lies below. Understands file:// URLs, and removes "./"
/// from the beginning.
std::string RelativePath(std::string_view file, std::string_view root);

/// Returns the path below the root of a Go module: "cart/cart.go" for
/// "example.com/shop/cart/cart.go". A path outside of the module stays as it is.
std::string_view WithinModule(std::string_view path, std::string_view module);

/// Takes the first line from `rest`, without its line feed and carriage return. Returns false at
/// the end of the text.
bool TakeLine(std::string_view& rest, std::string_view& line);

/// Takes the text before `separator` from `rest`, and the separator. Returns nothing if `rest` does
/// not contain the separator; `rest` then stays as it is.
std::optional<std::string_view> TakeUntil(std::string_view& rest, std::string_view separator);

/// Removes spaces, tabs and line ends at both ends.
std::string_view Trim(std::string_view text);

/// Returns the number if the whole text is a decimal number of at most 18 digits.
std::optional<std::int64_t> Number(std::string_view digits);
/// As Number(), but 0 for any other text: for lines and columns.
std::int64_t NumberOr0(std::string_view digits);

/// Returns whether the text is empty or ends with a line feed. A tool ends each line with one, so
/// any other text was cut.
bool EndsInLine(std::string_view text);

/// Returns the severity for the words that tools use: "error", "fatal error", "warn", "info", ...
Severity SeverityOf(std::string_view word);

}  // namespace polybox::verify
