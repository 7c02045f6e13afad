// Texts that agents and the files of a workspace give to the file tools: patterns, ignore files,
// edits, notebooks, regular expressions. The input is up to three texts with zero bytes between
// them. What the tools find is compared with plainer code.
#include <algorithm>
#include <array>

#include "fuzz/fuzz.h"
#include "tools/grep_text.h"
#include "tools/line_ends.h"
#include "tools/line_picker.h"
#include "tools/notebook.h"
#include "tools/replace_text.h"
#include "workspace/glob_pattern.h"
#include "workspace/ignore_rules.h"

namespace polybox::fuzz {
namespace {

using Texts = std::array<std::string, 3>;

Texts Split(std::string_view input) {
  Texts texts;
  for (std::string& text : texts) {
    const std::size_t end = std::min(input.find('\0'), input.size());
    text = input.substr(0, end);
    input.remove_prefix(std::min(end + 1, input.size()));
  }
  return texts;
}

/// A pattern that quotes every character of a path fits this path.
void CheckPatterns(const Texts& texts) {
  const Result<workspace::Glob> any = workspace::Glob::Compile(texts[0]);
  if (any.ok()) std::ignore = any->Matches(texts[1]);
  std::ignore =
      workspace::IgnoreRules::Parse(texts[0]).Judge(texts[1], workspace::EntryKind::kDirectory);
  const std::vector<std::string_view> names = workspace::SplitPath(texts[1]);
  if (std::ranges::count(names, ".") > 0) return;
  std::string quoted;
  for (const char c : texts[1]) quoted += c == '/' ? "/" : std::string("\\") + c;
  const Result<workspace::Glob> exact = workspace::Glob::Compile(quoted);
  if (!exact.ok()) return;
  Check(exact->Matches(texts[1]), "a quoted path fits itself", texts[1]);
  Check(names.empty() || !exact->Matches(texts[1] + "x"), "and no other", texts[1]);
}

std::string ReplacedAll(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

/// An edit does what a plain replacement does, if line ends are left aside.
void CheckEdit(const Texts& texts) {
  using tools::ToLf;
  const auto& [content, from, to] = texts;
  if (from.empty()) return;
  std::string edited = content;
  const Result<std::size_t> count = tools::ReplaceIn(
      edited, {.old_string = from, .new_string = to, .occurrences = tools::Occurrences::kAll}, "x");
  const bool has_crlf = content.find("\r\n") != std::string::npos;
  const std::string flat = has_crlf ? ToLf(content) : content;
  const std::string flat_from = has_crlf ? ToLf(from) : from;
  Check(count.ok() == (flat.find(flat_from) != std::string::npos), "found or not", content);
  if (!count.ok()) return Check(edited == content, "a failed edit changes nothing", edited);
  const auto has_lone_cr = [](const std::string& text) {
    return ToLf(text).find('\r') != std::string::npos;
  };
  if (has_lone_cr(content) || has_lone_cr(from) || has_lone_cr(to)) return;
  Check(ToLf(edited) == ToLf(ReplacedAll(flat, flat_from, to)), "the text is replaced", edited);
  const bool all_crlf = tools::LineEndsOf(content) == tools::LineEnds::kCrLf;
  Check(!all_crlf || tools::LineEndsOf(edited) == tools::LineEnds::kCrLf ||
            tools::LineEndsOf(edited) == tools::LineEnds::kNone,
        "the line ends stay", edited);
}

/// The lines are the same wherever the text is cut in two, and all of them are counted.
void CheckLines(const Texts& texts) {
  const std::string& text = texts[0];
  const std::size_t cut = text.size() / 2;
  tools::LinePicker whole(2, 3, tools::Budget(50));
  tools::LinePicker parts(2, 3, tools::Budget(50));
  whole.Feed(text);
  parts.Feed(text.substr(0, cut));
  parts.Feed(text.substr(cut));
  const tools::PickedLines a = whole.Finish();
  const tools::PickedLines b = parts.Finish();
  Check(a.text == b.text && a.total == b.total && a.count == b.count, "parts make the whole", text);
  const auto ends = std::ranges::count(text, '\n');
  Check(a.total == ends + (text.empty() || text.ends_with('\n') ? 0 : 1), "all are counted", text);
  Check(std::ranges::count(a.text, '\n') == a.count, "each line has an end", a.text);
  std::ignore = tools::ReadNotebook(text);
}

/// A line is found in the whole text if and only if it is found alone.
void CheckSearch(const Texts& texts) {
  const std::string text = tools::ToLf(texts[1]);
  const auto lines =
      tools::GrepPattern::Compile(texts[0], tools::Case::kIgnored, tools::Reach::kLines);
  if (lines.ok()) std::ignore = tools::FindLines(text, *lines, 5);
  // These look beyond the line, or change what "^" and "$" mean.
  for (const char* beyond : {"\\A", "\\z", "\\C", "(?"}) {
    if (texts[0].find(beyond) != std::string::npos) return;
  }
  const auto pattern =
      tools::GrepPattern::Compile(texts[0], tools::Case::kMatters, tools::Reach::kLine);
  if (!pattern.ok()) return;
  const tools::LineMatches found = tools::FindLines(text, *pattern, 1000);
  std::int64_t alone = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    alone += pattern->Find(std::string_view(text).substr(at, end - at), 0) ? 1 : 0;
    at = end + 1;
  }
  Check(found.total == alone, "a line is found alone or not at all", texts[0] + "\n--\n" + text);
  const auto shown = tools::WithContext(text, found.lines, {.before = 1, .after = 2});
  for (std::size_t i = 1; i < shown.size(); ++i) {
    Check(shown[i].number > shown[i - 1].number, "each line is shown once, in order", text);
  }
}

}  // namespace
}  // namespace polybox::fuzz

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace polybox::fuzz;
  const Texts texts = Split(ToText(data, size));
  CheckPatterns(texts);
  CheckEdit(texts);
  CheckLines(texts);
  CheckSearch(texts);
  return 0;
}
