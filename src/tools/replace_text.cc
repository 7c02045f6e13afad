#include "tools/replace_text.h"

#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "tools/line_ends.h"

namespace polybox::tools {
namespace {

/// A part of a text.
struct Span {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// Returns all parts of `text` that are `wanted`, without overlaps, in linear time.
std::vector<Span> FindAll(std::string_view text, std::string_view wanted) {
  std::vector<Span> spans;
  std::size_t from = 0;
  while (from < text.size()) {
    // std::string::find() takes quadratic time for some texts; memmem() never does.
    const void* found =
        ::memmem(text.data() + from, text.size() - from, wanted.data(), wanted.size());
    if (found == nullptr) break;
    const auto begin = static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
    spans.push_back({begin, begin + wanted.size()});
    from = begin + wanted.size();
  }
  return spans;
}

/// Turns spans of ToLf(content) into the spans of `content` that they come from.
void MapToContent(std::string_view content, std::vector<Span>& spans) {
  std::size_t at = 0;
  std::size_t flat = 0;
  const auto content_offset = [&](std::size_t wanted) {
    for (; flat < wanted; ++at) {
      const bool dropped = content.substr(at, 2) == "\r\n";
      if (!dropped) ++flat;
    }
    return at;
  };
  for (Span& span : spans) {
    span.begin = content_offset(span.begin);
    span.end = content_offset(span.end);
  }
}

/// Returns whether new lines in place of `replaced` end in "\r\n".
bool WantsCrLf(std::string_view replaced, LineEnds of_file) {
  const LineEnds inside = LineEndsOf(replaced);
  if (inside == LineEnds::kNone) return of_file == LineEnds::kCrLf;
  return inside == LineEnds::kCrLf;
}

}  // namespace

Result<std::size_t> ReplaceIn(std::string& content, const Replacement& replacement,
                              std::string_view shown) {
  const LineEnds line_ends = LineEndsOf(content);
  const bool has_crlf = line_ends == LineEnds::kCrLf || line_ends == LineEnds::kMixed;
  std::vector<Span> spans;
  if (has_crlf) {
    spans = FindAll(ToLf(content), ToLf(replacement.old_string));
    MapToContent(content, spans);
  } else {
    spans = FindAll(content, replacement.old_string);
  }
  if (spans.empty()) {
    return Error(ErrorKind::kInvalid, fmt::format("old_string not found in {}", shown));
  }
  if (spans.size() > 1 && replacement.occurrences == Occurrences::kOne) {
    return Error(ErrorKind::kInvalid,
                 fmt::format("old_string matched {} times in {}; add context to make it unique or "
                             "set replace_all=true",
                             spans.size(), shown));
  }
  const std::string new_crlf = has_crlf ? ToCrLf(replacement.new_string) : "";
  std::string replaced;
  std::size_t done = 0;
  for (const Span& span : spans) {
    const std::string_view old_text =
        std::string_view(content).substr(span.begin, span.end - span.begin);
    replaced.append(content, done, span.begin - done);
    replaced += WantsCrLf(old_text, line_ends) ? new_crlf : replacement.new_string;
    done = span.end;
  }
  replaced.append(content, done);
  content = std::move(replaced);
  return spans.size();
}

}  // namespace polybox::tools
