// The line ends and the byte-order mark of a text file, which tools keep when they write it. Read
// shows neither, so the texts of an agent have "\n" where the file has "\r\n". Any thread.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace polybox::tools {

inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

enum class LineEnds {
  kNone,   ///< The text has at most one line.
  kLf,     ///< "\n" only.
  kCrLf,   ///< "\r\n" only.
  kMixed,  ///< Both.
};

std::vector<std::pair<LineEnds, std::string_view>> NamesOf(LineEnds type);

LineEnds LineEndsOf(std::string_view text);

/// Returns the text with "\r\n" for each "\n" that has no "\r" before it.
std::string ToCrLf(std::string_view text);
/// Returns the text with "\n" for each "\r\n".
std::string ToLf(std::string_view text);

}  // namespace polybox::tools
