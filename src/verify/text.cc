#include "verify/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "base/printable.h"

namespace polybox::verify {
namespace {

constexpr char kEscape = '\x1b';

bool IsControl(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7f;
}

/// Returns the length of the terminal sequence at the start of `text`, which begins with an escape
/// character: "ESC [ ... letter" or "ESC ] ... BEL", otherwise the escape character alone.
std::size_t TerminalSequenceLength(std::string_view text) {
  if (text.size() < 2 || (text[1] != '[' && text[1] != ']')) return 1;
  const bool is_control = text[1] == '[';
  // No terminal takes longer sequences. The limit keeps a text of many beginnings cheap.
  const std::size_t end = std::min<std::size_t>(text.size(), 256);
  for (std::size_t i = 2; i < end; ++i) {
    if (is_control && text[i] >= '@' && text[i] <= '~') return i + 1;
    if (!is_control && text[i] == '\a') return i + 1;
  }
  return 1;
}

/// Returns the last place at or before `at` where a character begins.
std::size_t CharacterStart(std::string_view text, std::size_t at) {
  while (at > 0 && at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
  return at;
}

/// Returns the head of a text of which only `longest` bytes can be kept, before control characters
/// are removed. A sequence of color makes no text much longer.
std::string_view Head(std::string_view text, std::size_t longest) {
  return text.substr(0, CharacterStart(text, std::min(text.size(), longest)));
}

}  // namespace

std::string WithoutTerminal(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  while (!text.empty()) {
    if (text[0] == kEscape) {
      text.remove_prefix(TerminalSequenceLength(text));
    } else {
      if (!IsControl(text[0])) plain += text[0];
      text.remove_prefix(1);
    }
  }
  return plain;
}

std::string Kept(std::string_view text, std::size_t longest) {
  text = Trim(text);
  if (text.size() <= longest) return ToUtf8(WithoutTerminal(text));
  // Most of the room goes to the end: that is where a tool says what went wrong.
  const std::size_t head = CharacterStart(text, longest / 4);
  const std::size_t tail = CharacterStart(text, text.size() - (longest - longest / 4));
  return ToUtf8(fmt::format("{}\n[{} bytes left out]\n{}", WithoutTerminal(text.substr(0, head)),
                            tail - head, WithoutTerminal(text.substr(tail))));
}

std::string KeptName(std::string_view name) {
  std::string plain = WithoutTerminal(Head(Trim(name), kLongestName));
  std::ranges::replace(plain, '\n', ' ');
  return ToUtf8(plain);
}

std::string RelativePath(std::string_view file, std::string_view root) {
  constexpr std::string_view kScheme = "file://";
  if (file.starts_with(kScheme)) file.remove_prefix(kScheme.size());
  if (!root.empty() && file.size() > root.size() && file.starts_with(root) &&
      file[root.size()] == '/') {
    file.remove_prefix(root.size() + 1);
  }
  while (file.starts_with("./") && file.size() > 2) file.remove_prefix(2);
  return KeptName(file);
}

std::string_view WithinModule(std::string_view path, std::string_view module) {
  if (module.empty() || !path.starts_with(module)) return path;
  const std::string_view rest = path.substr(module.size());
  if (rest.empty()) return rest;
  return rest[0] == '/' ? rest.substr(1) : path;
}

bool TakeLine(std::string_view& rest, std::string_view& line) {
  if (rest.empty()) return false;
  const std::size_t end = rest.find('\n');
  line = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return true;
}

std::optional<std::string_view> TakeUntil(std::string_view& rest, std::string_view separator) {
  const std::size_t end = rest.find(separator);
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view taken = rest.substr(0, end);
  rest.remove_prefix(end + separator.size());
  return taken;
}

std::string_view Trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

std::optional<std::int64_t> Number(std::string_view digits) {
  constexpr std::size_t kMostDigits = 18;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool whole = error == std::errc() && end == digits.data() + digits.size();
  if (!whole || digits.size() > kMostDigits || number < 0) return std::nullopt;
  return number;
}

std::int64_t NumberOr0(std::string_view digits) {
  return Number(digits).value_or(0);
}

bool EndsInLine(std::string_view text) {
  // Maven resets the colors of the terminal at its end.
  constexpr std::string_view kReset = "\x1b[0m";
  while (text.ends_with(kReset)) text.remove_suffix(kReset.size());
  return text.empty() || text.ends_with('\n');
}

Severity SeverityOf(std::string_view word) {
  using enum Severity;
  constexpr auto kWords = std::to_array<std::pair<std::string_view, Severity>>({
      {"warning", kWarning},     {"warn", kWarning},     {"Warning", kWarning},
      {"WARNING", kWarning},     {"W", kWarning},        {"minor", kWarning},
      {"refactor", kWarning},    {"style", kWarning},    {"performance", kWarning},
      {"portability", kWarning}, {"note", kNote},        {"info", kNote},
      {"Info", kNote},           {"information", kNote}, {"convention", kNote},
      {"help", kNote},           {"hint", kNote},        {"remark", kNote},
      {"none", kNote},           {"ignore", kNote},
  });
  const auto* found =
      std::ranges::find(kWords, word, &std::pair<std::string_view, Severity>::first);
  return found == kWords.end() ? kError : found->second;
}

}  // namespace polybox::verify
