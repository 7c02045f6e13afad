#include "mcp/line_reader.h"

#include <utility>

namespace polybox::mcp {

void LineReader::Add(std::string_view bytes) {
  bytes_.erase(0, begin_);
  searched_ -= begin_;
  begin_ = 0;
  bytes_ += bytes;
}

std::optional<LineReader::Line> LineReader::Next() {
  while (true) {
    const std::size_t end = bytes_.find('\n', searched_);
    const bool whole = end != std::string::npos;
    const std::size_t length = (whole ? end : bytes_.size()) - begin_;
    if (!whole && !ended_) {
      searched_ = bytes_.size();
      // The bytes of a line that is too long need no memory.
      if (skipping_ || length > longest_) {
        skipping_ = true;
        begin_ = searched_;
      }
      return std::nullopt;
    }
    if (!whole && length == 0 && !skipping_) return std::nullopt;
    const std::string_view text = std::string_view(bytes_).substr(begin_, length);
    begin_ = searched_ = whole ? end + 1 : bytes_.size();
    if (std::exchange(skipping_, false) || length > longest_)
      return Line{.text = "", .too_long = true};
    if (text.find_first_not_of(" \t\r") != std::string_view::npos) return Line{.text = text};
  }
}

}  // namespace polybox::mcp
