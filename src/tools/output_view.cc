#include "tools/output_view.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/printable.h"

namespace polybox::tools {
namespace {

/// The end of an output says how it went, so it gets more of the budget.
constexpr std::size_t kHeadShare = 4;
/// A text may have a few stray bytes; more in a hundred than this is binary data.
constexpr std::size_t kMostStrayPercent = 10;
constexpr std::size_t kFewStray = 16;
constexpr std::size_t kLastLineSearched = 4096;
constexpr std::size_t kShownLine = 200;

bool IsContinuation(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0U) == 0x80U;
}

/// Cuts a prefix at the end of a line, if there is one in its second half, else between characters.
void CutEnd(std::string& text) {
  const std::size_t feed = text.rfind('\n');
  if (feed != std::string::npos && feed >= text.size() / 2) {
    text.resize(feed + 1);
    return;
  }
  std::size_t last = text.size();
  while (last > 0 && text.size() - last < 4 && IsContinuation(text[last - 1])) --last;
  if (last > 0 && Utf8SequenceLength(std::string_view(text).substr(last - 1)) == 0) --last;
  text.resize(last);
}

/// Cuts a suffix at the begin of a line, if there is one in its first half.
void CutBegin(std::string& text) {
  const std::size_t feed = text.find('\n');
  if (feed != std::string::npos && feed < text.size() / 2) {
    text.erase(0, feed + 1);
    return;
  }
  std::size_t first = 0;
  while (first < text.size() && first < 4 && IsContinuation(text[first])) ++first;
  text.erase(0, first);
}

/// Returns the number of bytes of the control sequence of a terminal at the start of `text`, which
/// begins with an escape character.
std::size_t EscapeLength(std::string_view text) {
  if (text.size() < 2) return 1;
  if (text[1] == '[') {
    std::size_t i = 2;
    while (i < text.size() && (text[i] < '@' || text[i] > '~')) ++i;
    return std::min(i + 1, text.size());
  }
  if (text[1] != ']') return 2;
  // A title or a link: it ends with BEL, or with ESC and a backslash.
  const std::size_t end = text.find_first_of("\a\x1b", 2);
  if (end == std::string_view::npos) return 1;
  return text[end] == '\a' ? end + 1 : std::min(end + 2, text.size());
}

std::string GapText(std::uint64_t bytes) {
  return fmt::format("\n... (output truncated, {} bytes elided)\n", bytes);
}

bool IsBinary(std::string_view bytes) {
  std::size_t stray = 0;
  for (std::size_t i = 0; i < bytes.size();) {
    const std::size_t length = Utf8SequenceLength(bytes.substr(i));
    if (length == 0 || bytes[i] == '\0') ++stray;
    i += std::max<std::size_t>(length, 1);
  }
  return stray > kFewStray && stray * 100 > bytes.size() * kMostStrayPercent;
}

}  // namespace

std::string ReadableText(std::string_view bytes) {
  if (IsBinary(bytes)) {
    return fmt::format("({} bytes of binary data, not shown)\n", bytes.size());
  }
  std::string text;
  text.reserve(bytes.size());
  for (std::size_t i = 0; i < bytes.size();) {
    const char byte = bytes[i];
    if (byte == '\x1b') {
      i += EscapeLength(bytes.substr(i));
      continue;
    }
    if (byte == '\0') text += "\\0";
    const bool line_end = byte == '\r' && i + 1 < bytes.size() && bytes[i + 1] == '\n';
    if (byte != '\0' && !line_end) text += byte;
    ++i;
  }
  return text;
}

OutputView ViewOf(const shells::OutputLog& log, std::uint64_t from, std::size_t characters) {
  const shells::Extent extent = log.extent();
  from = std::min(from, extent.end);
  const std::uint64_t size = extent.end - from;
  const bool has_gap = extent.lost() != 0 && from < extent.tail_begin;
  OutputView view = {.text = {}, .left_out = 0, .end = extent.end};
  if (size <= characters && !has_gap) {
    view.text = ReadableText(shells::ReadOn(log, from, size).bytes);
    return view;
  }
  std::string head;
  if (!has_gap || from < extent.head_end) {
    head = shells::ReadOn(log, from, characters / kHeadShare).bytes;
    CutEnd(head);
  }
  const std::uint64_t most =
      std::min<std::uint64_t>(characters - characters / kHeadShare, size - head.size());
  std::string tail = shells::ReadOn(log, extent.end - most, most).bytes;
  if (tail.size() > most) tail.resize(most);
  CutBegin(tail);
  view.left_out = size - head.size() - tail.size();
  view.text = ReadableText(head) + GapText(view.left_out) + ReadableText(tail);
  return view;
}

std::string Shortened(std::string_view text, std::size_t characters) {
  if (text.size() <= characters) return std::string(text);
  std::string head(text.substr(0, characters / kHeadShare));
  CutEnd(head);
  std::string tail(text.substr(text.size() - (characters - characters / kHeadShare)));
  CutBegin(tail);
  return head + GapText(text.size() - head.size() - tail.size()) + tail;
}

std::string LastLine(const shells::OutputLog& log) {
  const std::uint64_t end = log.extent().end;
  const std::uint64_t from = end - std::min<std::uint64_t>(end, kLastLineSearched);
  const std::string text = ReadableText(shells::ReadOn(log, from, kLastLineSearched).bytes);
  const std::size_t last = text.find_last_not_of("\r\n ");
  if (last == std::string::npos) return "";
  const std::size_t before = text.find_last_of("\r\n", last);
  const std::size_t first = before == std::string::npos ? 0 : before + 1;
  return Printable(std::string_view(text).substr(first, last + 1 - first), kShownLine);
}

}  // namespace polybox::tools
