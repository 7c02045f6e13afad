#include "verify/parsers/tap_lines.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "verify/text.h"

namespace polybox::verify {
namespace {

bool BeginsWithWord(std::string_view text, std::string_view word) {
  return text.size() >= word.size() &&
         std::equal(word.begin(), word.end(), text.begin(), [](char a, char b) {
           return a == std::tolower(static_cast<unsigned char>(b));
         });
}

/// Takes the directive from the end of a name: "name # SKIP reason". A hash in a name is none.
void TakeDirective(TapTest& test) {
  for (std::size_t at = test.name.rfind('#'); at != std::string_view::npos && at > 0;
       at = test.name.rfind('#', at - 1)) {
    const std::string_view directive = Trim(test.name.substr(at + 1));
    test.is_skipped = BeginsWithWord(directive, "skip");
    test.is_todo = BeginsWithWord(directive, "todo");
    if (!test.is_skipped && !test.is_todo) continue;
    test.name = Trim(test.name.substr(0, at));
    return;
  }
  // "ok 4 # skip": without a name, the hash comes first.
  if (!test.name.starts_with('#')) return;
  const std::string_view directive = Trim(test.name.substr(1));
  test.is_skipped = BeginsWithWord(directive, "skip");
  test.is_todo = BeginsWithWord(directive, "todo");
  if (test.is_skipped || test.is_todo) test.name = {};
}

/// Reads the text behind "ok" or "not ok": " 3 - name".
bool ReadTest(std::string_view rest, TapTest& test) {
  if (!rest.empty() && rest[0] != ' ') return false;
  rest = Trim(rest);
  const std::size_t digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
  test.number = NumberOr0(rest.substr(0, digits));
  rest = Trim(rest.substr(digits));
  if (rest.starts_with("- ")) rest = Trim(rest.substr(2));
  if (rest == "-") rest = {};
  test.name = rest;
  TakeDirective(test);
  return true;
}

/// Returns the file of "t/a.t .. " and "t/a.t .. skipped: reason"; "" for another line.
std::string_view ProveFile(std::string_view line) {
  const std::size_t dots = line.find(" ..");
  if (dots == std::string_view::npos || dots == 0 || line[0] == '#' || line[0] == ' ') return {};
  const std::size_t end = line.find_first_not_of('.', dots + 1);
  const std::string_view rest = end == std::string_view::npos ? "" : Trim(line.substr(end));
  const bool is_header = rest.empty() || rest == "ok" || rest.starts_with("skipped");
  return is_header ? Trim(line.substr(0, dots)) : std::string_view();
}

}  // namespace

TapLine ReadTapLine(std::string_view whole) {
  TapLine line;
  line.whole = whole;
  line.indent = std::min(whole.find_first_not_of(' '), whole.size());
  line.text = whole.substr(line.indent);
  const std::string_view text = line.text;
  if ((text.starts_with("ok") && ReadTest(text.substr(2), line.test)) ||
      (text.starts_with("not ok") && ReadTest(text.substr(6), line.test))) {
    // "ok" alone is what prove writes after a file.
    if (text == "ok") return line;
    line.test.ok = text[0] == 'o';
    line.kind = TapLine::Kind::kTest;
  } else if (text.starts_with("1..")) {
    const std::size_t end = std::min(text.find_first_not_of("0123456789", 3), text.size());
    line.plan = Number(text.substr(3, end - 3)).value_or(-1);
    if (line.plan >= 0) line.kind = TapLine::Kind::kPlan;
  } else if (text.starts_with("Bail out!")) {
    line.kind = TapLine::Kind::kBailOut;
  } else if (line.indent == 0 &&
             (text == "Result: PASS" || text == "Result: FAIL" || text == "Result: NOTESTS")) {
    line.kind = TapLine::Kind::kProveResult;
  } else if (const std::string_view file = ProveFile(whole); !file.empty()) {
    line.kind = TapLine::Kind::kProveFile;
    line.text = file;
  }
  return line;
}

void TapDiagnostics::Take(std::string_view whole) {
  const std::size_t indent = std::min(whole.find_first_not_of(' '), whole.size());
  std::string_view line = whole.substr(indent);
  if (text.size() < kLongestOutput && line != "---" && line != "...") {
    text += line.starts_with('#') ? Trim(line.substr(1)) : line;
    text += '\n';
  }
  if (block_ != nullptr && (line.empty() || indent > block_indent_)) {
    *block_ += fmt::format("{}\n", line);
    return;
  }
  block_ = nullptr;
  const auto key = TakeUntil(line, ":");
  if (!key) return;
  std::string* value = nullptr;
  if (*key == "error" || *key == "message") value = &error;
  if (*key == "expected" || *key == "wanted") value = &expected;
  if (*key == "actual" || *key == "found") value = &actual;
  if (*key == "location") value = &place;
  line = Trim(line);
  if (*key == "name" && line.find("AssertionError") == std::string_view::npos) is_error = true;
  if (value == nullptr || !value->empty()) return;
  if (line.empty() || line == "|-" || line == "|") {
    block_ = value;
    block_indent_ = indent;
    return;
  }
  if (line.size() > 1 && line.front() == '\'' && line.back() == '\'') {
    line = line.substr(1, line.size() - 2);
  }
  *value = line;
}

std::pair<std::string_view, std::int64_t> SplitPlace(std::string_view place) {
  const std::size_t column = place.rfind(':');
  const std::size_t line = column == std::string_view::npos ? column : place.rfind(':', column - 1);
  if (line == std::string_view::npos) return {};
  return {place.substr(0, line), NumberOr0(place.substr(line + 1, column - line - 1))};
}

std::string Unescaped(std::string_view name) {
  std::string plain;
  while (!name.empty()) {
    const bool escapes = name.size() > 1 && name[0] == '\\' && (name[1] == '#' || name[1] == '\\');
    if (escapes) name.remove_prefix(1);
    plain += name[0];
    name.remove_prefix(1);
  }
  return plain;
}

std::string FindTestMoreText(std::string_view err, std::string_view name) {
  const std::size_t begin = err.find(fmt::format("Failed test '{}'", name));
  if (begin == std::string_view::npos) return "";
  std::string text;
  std::string_view rest = err.substr(begin);
  std::string_view line;
  while (TakeLine(rest, line) && text.size() < kLongestOutput) {
    std::string_view trimmed = Trim(line);
    const bool is_first = text.empty();
    if (!is_first && !trimmed.starts_with('#')) break;
    if (trimmed.find("Looks like you failed") != std::string_view::npos) break;
    if (!is_first && trimmed.find("Failed test '") != std::string_view::npos) break;
    text += is_first ? trimmed : Trim(trimmed.substr(1));
    text += '\n';
  }
  return text;
}

}  // namespace polybox::verify
