#include "tools/grep_text.h"

#include <algorithm>

namespace polybox::tools {
namespace {

/// Walks through the lines of a text, forwards.
class LineCursor {
 public:
  explicit LineCursor(std::string_view text) : text_(text) {}

  /// Moves to the line that contains the byte at `at`, which is not before the present line.
  void MoveTo(std::size_t at) {
    const std::string_view between = text_.substr(begin_, at - begin_);
    number_ += std::ranges::count(between, '\n');
    const std::size_t last = between.rfind('\n');
    if (last != std::string_view::npos) begin_ += last + 1;
  }

  TextLine Line() const { return {number_, text_.substr(begin_, End() - begin_), true}; }
  std::size_t begin() const { return begin_; }
  /// The offset of the line end, or of the end of the text.
  std::size_t End() const { return std::min(text_.find('\n', begin_), text_.size()); }

 private:
  std::string_view text_;
  std::size_t begin_ = 0;
  std::int64_t number_ = 1;
};

void Add(const TextLine& line, std::size_t most, LineMatches& matches) {
  ++matches.total;
  if (matches.lines.size() < most) matches.lines.push_back(line);
}

/// Returns whether there is a line at this offset. An empty match can be at the end of the text,
/// where a line is only if its line end is missing.
bool HasLineAt(std::string_view text, std::size_t at) {
  return at < text.size() || (at == text.size() && !text.ends_with('\n'));
}

/// Matches are looked for in the whole text. A match over several lines only says that the
/// first of its lines must be looked at alone.
LineMatches FindWithinLines(std::string_view text, const GrepPattern& pattern, std::size_t most) {
  LineMatches matches;
  LineCursor cursor(text);
  for (std::size_t from = 0; from < text.size();) {
    const auto match = pattern.Find(text, from);
    if (!match || !HasLineAt(text, match->begin)) break;
    cursor.MoveTo(match->begin);
    const TextLine line = cursor.Line();
    const bool within = match->end <= cursor.End();
    if (within || pattern.Find(line.text, 0)) Add(line, most, matches);
    from = cursor.End() + 1;
  }
  return matches;
}

LineMatches FindAcrossLines(std::string_view text, const GrepPattern& pattern, std::size_t most) {
  LineMatches matches;
  LineCursor cursor(text);
  std::int64_t last = 0;
  for (std::size_t from = 0; from < text.size();) {
    const auto match = pattern.Find(text, from);
    if (!match || !HasLineAt(text, match->begin)) break;
    // The line end of the last line is not part of another line.
    const std::size_t end = match->end > match->begin ? match->end - 1 : match->end;
    for (std::size_t at = match->begin; at <= end && HasLineAt(text, at); at = cursor.End() + 1) {
      cursor.MoveTo(at);
      const TextLine line = cursor.Line();
      if (line.number > last) Add(line, most, matches);
      last = line.number;
    }
    from = std::max(match->end, match->begin + 1);
  }
  return matches;
}

}  // namespace

LineMatches FindLines(std::string_view text, const GrepPattern& pattern, std::size_t most) {
  return pattern.reach() == Reach::kLine ? FindWithinLines(text, pattern, most)
                                         : FindAcrossLines(text, pattern, most);
}

std::vector<TextLine> WithContext(std::string_view text, const std::vector<TextLine>& matches,
                                  const Around& around) {
  std::vector<TextLine> lines;
  const auto offset = [&](const TextLine& line) {
    return static_cast<std::size_t>(line.text.data() - text.data());
  };
  for (std::size_t i = 0; i < matches.size(); ++i) {
    std::vector<TextLine> before;
    std::size_t begin = offset(matches[i]);
    const std::int64_t done = lines.empty() ? 0 : lines.back().number;
    for (std::int64_t number = matches[i].number - 1;
         number > done && matches[i].number - number <= around.before; --number) {
      const std::size_t end = begin - 1;
      const std::size_t previous = end == 0 ? std::string_view::npos : text.rfind('\n', end - 1);
      begin = previous == std::string_view::npos ? 0 : previous + 1;
      before.push_back({number, text.substr(begin, end - begin), false});
    }
    lines.insert(lines.end(), before.rbegin(), before.rend());
    lines.push_back(matches[i]);
    std::size_t at = offset(matches[i]) + matches[i].text.size() + 1;
    const std::int64_t next = i + 1 < matches.size() ? matches[i + 1].number : INT64_MAX;
    for (std::int64_t number = matches[i].number + 1;
         number < next && number - matches[i].number <= around.after && at < text.size();
         ++number) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      lines.push_back({number, text.substr(at, end - at), false});
      at = end + 1;
    }
  }
  return lines;
}

}  // namespace polybox::tools
