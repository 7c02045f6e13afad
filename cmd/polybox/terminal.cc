#include "terminal.h"

#include <algorithm>
#include <cstdlib>
#include <unistd.h>

#include "base/printable.h"

namespace polybox::cmd {
namespace {

/// Returns whether the variable is set and not empty.
bool IsSet(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

/// Returns the escape sequence that begins a style.
const char* Code(Style style) {
  switch (style) {
    case Style::kPlain:
      return "";
    case Style::kBold:
      return "\x1b[1m";
    case Style::kDim:
      return "\x1b[2m";
    case Style::kGood:
      return "\x1b[32m";
    case Style::kBad:
      return "\x1b[31m";
    case Style::kWarn:
      return "\x1b[33m";
  }
  return "";
}

/// Returns the number of columns: bytes that continue a UTF-8 character take none.
std::size_t Width(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

}  // namespace

Terminal::Terminal(std::FILE* stream)
    : stream_(stream), is_terminal_(::isatty(::fileno(stream)) == 1) {
  // A dumb terminal shows escape sequences as text. NO_COLOR only turns colours off.
  const char* term = std::getenv("TERM");
  const bool dumb = term != nullptr && std::string_view(term) == "dumb";
  repaints_ = is_terminal_ && !dumb;
  colours_ = repaints_ && !IsSet("NO_COLOR");
}

std::string Terminal::Styled(Style style, std::string_view text) const {
  if (!colours_ || style == Style::kPlain) return std::string(text);
  return Code(style) + std::string(text) + "\x1b[0m";
}

void Terminal::Print(std::string_view text) const {
  std::fwrite(text.data(), 1, text.size(), stream_);
}

// Text on standard output is printed unchanged, because it is the result of the command.
void Terminal::PrintLine(std::string_view text) const {
  if (stream_ != stderr) {
    Print(text);
    Print("\n");
    return;
  }
  // Messages may contain untrusted text, so control characters must not reach the terminal.
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    Print(Printable(text.substr(at, end - at), 4096) + "\n");
    at = end + 1;
  }
}

bool Terminal::Flush() const {
  return std::fflush(stream_) == 0 && std::ferror(stream_) == 0;
}

std::string Columns(const std::vector<std::vector<std::string>>& rows,
                    const std::vector<Style>& styles, const Terminal& terminal) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], Width(row[i]));
  }
  std::string text;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      text += terminal.Styled(i < styles.size() ? styles[i] : Style::kPlain, row[i]);
      if (i + 1 < row.size()) text += std::string(widths[i] - Width(row[i]) + 2, ' ');
    }
    text += '\n';
  }
  return text;
}

}  // namespace polybox::cmd
