#include "tools/line_ends.h"

namespace polybox::tools {

std::vector<std::pair<LineEnds, std::string_view>> NamesOf(LineEnds /*type*/) {
  return {{LineEnds::kNone, "none"},
          {LineEnds::kLf, "lf"},
          {LineEnds::kCrLf, "crlf"},
          {LineEnds::kMixed, "mixed"}};
}

LineEnds LineEndsOf(std::string_view text) {
  bool lf = false;
  bool crlf = false;
  for (std::size_t at = text.find('\n'); at != std::string_view::npos && !(lf && crlf);
       at = text.find('\n', at + 1)) {
    (at > 0 && text[at - 1] == '\r' ? crlf : lf) = true;
  }
  if (lf && crlf) return LineEnds::kMixed;
  if (crlf) return LineEnds::kCrLf;
  return lf ? LineEnds::kLf : LineEnds::kNone;
}

/// Leaves line ends alone that are CRLF already.
std::string ToCrLf(std::string_view text) {
  std::string converted;
  converted.reserve(text.size() + text.size() / 16);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n' && (i == 0 || text[i - 1] != '\r')) converted += '\r';
    converted += text[i];
  }
  return converted;
}

std::string ToLf(std::string_view text) {
  std::string converted;
  converted.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool dropped = text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n';
    if (!dropped) converted += text[i];
  }
  return converted;
}

}  // namespace polybox::tools
