#include "verify/parsers/compiler_lines.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_set>

#include "verify/text.h"

namespace polybox::verify {
namespace {

constexpr auto kSeverities = std::to_array<std::string_view>(
    {"fatal error", "error", "warning", "note", "info", "style", "performance", "portability",
     "information", "remark", "help"});

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

/// Takes "12:" from the text.
std::optional<std::int64_t> TakeNumber(std::string_view& text) {
  std::size_t digits = 0;
  while (digits < text.size() && IsDigit(text[digits])) ++digits;
  if (digits == 0 || digits == text.size() || text[digits] != ':') return std::nullopt;
  const auto number = Number(text.substr(0, digits));
  if (number) text.remove_prefix(digits + 1);
  return number;
}

/// Returns the position of the colon between file and line: the first that a number and a colon
/// follow. A file name may contain colons.
std::size_t FileEnd(std::string_view line) {
  for (std::size_t at = line.find(':', 1); at != std::string_view::npos;
       at = line.find(':', at + 1)) {
    std::string_view rest = line.substr(at + 1);
    if (TakeNumber(rest)) return at;
  }
  return std::string_view::npos;
}

/// Moves the rule from the end of the message: "text [-Wrule]".
void TakeRule(CompilerLine& parts) {
  if (!parts.message.ends_with(']')) return;
  const std::size_t begin = parts.message.rfind(" [");
  if (begin == std::string_view::npos) return;
  const std::string_view rule = parts.message.substr(begin + 2, parts.message.size() - begin - 3);
  if (rule.empty() || rule.find_first_of(" []") != std::string_view::npos) return;
  parts.rule = rule;
  parts.message = parts.message.substr(0, begin);
}

}  // namespace

std::optional<CompilerLine> ReadCompilerLine(std::string_view line) {
  const std::size_t file_end = FileEnd(line);
  if (file_end == std::string_view::npos) return std::nullopt;
  CompilerLine parts{.file = line.substr(0, file_end)};
  // Source lines and stack traces are indented. "In file included from a.h:1:" is no finding.
  if (parts.file.empty() || parts.file[0] == ' ' || parts.file[0] == '\t') return std::nullopt;
  std::string_view rest = line.substr(file_end + 1);
  parts.line = *TakeNumber(rest);
  parts.column = TakeNumber(rest).value_or(0);
  if (!rest.starts_with(' ')) return std::nullopt;
  rest = Trim(rest);
  for (const std::string_view word : kSeverities) {
    if (!rest.starts_with(word) || !rest.substr(word.size()).starts_with(':')) continue;
    parts.severity = word;
    rest = Trim(rest.substr(word.size() + 1));
    break;
  }
  if (rest.empty()) return std::nullopt;
  parts.message = rest;
  TakeRule(parts);
  return parts;
}

std::optional<CompilerLine> ReadMavenLine(std::string_view line) {
  CompilerLine parts;
  for (const std::string_view level : {"[ERROR] ", "[WARNING] "}) {
    if (!line.starts_with(level)) continue;
    parts.severity = level == "[ERROR] " ? "error" : "warning";
    line.remove_prefix(level.size());
  }
  const auto file = parts.severity.empty() ? std::nullopt : TakeUntil(line, ":[");
  const auto number = file ? TakeUntil(line, ",") : std::nullopt;
  const auto column = number ? TakeUntil(line, "]") : std::nullopt;
  if (!column || !Number(*number) || !Number(*column)) return std::nullopt;
  parts.file = *file;
  parts.line = *Number(*number);
  parts.column = *Number(*column);
  parts.message = Trim(line);
  return parts;
}

void AddRustcErrors(std::string_view err, TestCollector& tests) {
  std::string_view line;
  RawFinding finding;
  bool open = false;
  const auto close = [&] {
    if (open) tests.BuildError(finding);
    open = false;
  };
  while (TakeLine(err, line)) {
    const std::string_view trimmed = Trim(line);
    if (line.starts_with("error")) {
      close();
      std::string_view message = line;
      const auto head = TakeUntil(message, ": ");
      // These lines only count what was reported before.
      if (!head || message.starts_with("could not compile") ||
          message.find("failed, to rerun") != std::string_view::npos ||
          message.ends_with("targets failed:")) {
        continue;
      }
      const std::size_t code = head->find('[');
      finding = {.rule = code == std::string_view::npos
                             ? std::string_view()
                             : head->substr(code + 1, head->size() - code - 2),
                 .message = message};
      open = true;
    } else if (open && trimmed.starts_with("--> ")) {
      std::string_view place = trimmed.substr(4);
      finding.file = TakeUntil(place, ":").value_or(place);
      finding.range.line = NumberOr0(TakeUntil(place, ":").value_or(""));
      finding.range.column = NumberOr0(place);
      close();
    }
  }
  close();
}

void AddBuildErrors(std::string_view output, TestCollector& tests) {
  // Maven lists its errors a second time at the end.
  std::unordered_set<std::string_view> seen;
  std::string_view line;
  while (TakeLine(output, line)) {
    if (!seen.insert(line).second) continue;
    if (line.starts_with("vet: ")) line.remove_prefix(5);
    auto parts = ReadMavenLine(line);
    if (!parts) parts = ReadCompilerLine(line);
    if (!parts || (!parts->severity.empty() && SeverityOf(parts->severity) != Severity::kError)) {
      continue;
    }
    tests.BuildError({.file = parts->file,
                      .range = {.line = parts->line, .column = parts->column},
                      .rule = parts->rule,
                      .message = parts->message});
  }
}

}  // namespace polybox::verify
