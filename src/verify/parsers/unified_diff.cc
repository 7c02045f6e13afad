// Unified diffs of formatters: gofmt, ruff, rustfmt through diff, shfmt, stylua, black. Each hunk
// says how many lines it has, so a diff that was cut within a hunk is noticed.
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "verify/parsers/all.h"
#include "verify/parsers/to_report.h"
#include "verify/text.h"

namespace polybox::verify {
namespace {

constexpr std::string_view kWhat = "a unified diff";

/// The numbers of lines that a hunk still has.
struct Left {
  std::int64_t old_lines = 0;
  std::int64_t new_lines = 0;

  bool any() const { return old_lines > 0 || new_lines > 0; }
};

/// Returns 7 for "-1,7", 1 for "-1"; nothing if it is no range.
std::optional<std::int64_t> LinesOf(std::string_view range) {
  range.remove_prefix(1);
  const auto start = TakeUntil(range, ",");
  if (!start) return Number(range) ? std::optional<std::int64_t>(1) : std::nullopt;
  return Number(*start) ? Number(range) : std::nullopt;
}

/// Reads "@@ -1,4 +1,6 @@".
std::optional<Left> ReadHunk(std::string_view line) {
  line.remove_prefix(3);
  const auto old_range = TakeUntil(line, " ");
  const auto new_range = TakeUntil(line, " @@");
  if (!old_range || !new_range || !old_range->starts_with('-') || !new_range->starts_with('+')) {
    return std::nullopt;
  }
  const auto old_lines = LinesOf(*old_range);
  const auto new_lines = LinesOf(*new_range);
  if (!old_lines || !new_lines) return std::nullopt;
  return Left{*old_lines, *new_lines};
}

/// Returns the file of "+++ path", without the time stamp, and without "b/" of git.
std::string FileOf(std::string_view line, std::string_view root) {
  line = line.substr(4);
  line = line.substr(0, line.find('\t'));
  if (line.starts_with("b/")) line.remove_prefix(2);
  return RelativePath(line, root);
}

class Diff {
 public:
  explicit Diff(const ParserInput& input) : rest_(input.out), root_(input.root) {}

  Result<FormatReport> Read() {
    std::string_view line;
    for (start_ = rest_; TakeLine(rest_, line); before_ = rest_) {
      POLYBOX_RETURN_IF_ERROR(Take(line));
    }
    if (left_.any()) return NotThis(kWhat, "the last hunk has fewer lines than it says");
    if (has_old_) return NotThis(kWhat, "the last file has no hunk");
    CloseFile(rest_);
    return std::move(report_);
  }

 private:
  Status Take(std::string_view line);
  Status TakeHunkLine(std::string_view line);
  void CloseFile(std::string_view end);

  /// What is left to read, and the same before the present line.
  std::string_view rest_;
  std::string_view before_ = rest_;
  /// The text from the header of the present file on.
  std::string_view start_;
  std::string_view root_;
  std::string file_;
  Left left_;
  /// Whether a line "---" came and no hunk yet.
  bool has_old_ = false;
  FormatReport report_;
};

void Diff::CloseFile(std::string_view end) {
  if (file_.empty()) return;
  const std::string_view text = start_.substr(0, start_.size() - end.size());
  report_.files.push_back({std::move(file_), Kept(text, kLongestDiff)});
  file_.clear();
}

Status Diff::TakeHunkLine(std::string_view line) {
  const char mark = line.empty() ? ' ' : line[0];
  if (mark == '\\') return {};  // "\ No newline at end of file"
  if (mark != ' ' && mark != '-' && mark != '+') {
    return NotThis(kWhat, fmt::format("a hunk has the line \"{}\"", Kept(line, 200)));
  }
  left_.old_lines -= mark != '+';
  left_.new_lines -= mark != '-';
  if (left_.old_lines < 0 || left_.new_lines < 0) {
    return NotThis(kWhat, "a hunk has more lines than it says");
  }
  return {};
}

Status Diff::Take(std::string_view line) {
  if (left_.any()) return TakeHunkLine(line);
  if (line.starts_with("--- ")) {
    CloseFile(before_);
    start_ = before_;
    has_old_ = true;
  } else if (line.starts_with("+++ ") && has_old_) {
    file_ = FileOf(line, root_);
  } else if (line.starts_with("@@ ") && !file_.empty()) {
    const auto hunk = ReadHunk(line);
    if (!hunk) return NotThis(kWhat, fmt::format("the hunk \"{}\"", Kept(line, 200)));
    left_ = *hunk;
    has_old_ = false;
  } else if (!line.empty() && !line.starts_with("diff ") && !line.starts_with("index ") &&
             !line.starts_with("> ") && line[0] != '\\') {
    return NotThis(kWhat, fmt::format("the line \"{}\"", Kept(line, 200)));
  }
  return {};
}

}  // namespace

Report ParseUnifiedDiff(const ParserInput& input) {
  if (!EndsInLine(input.out)) return Unreadable{"not a unified diff: it ends within a line"};
  return ToReport(Diff(input).Read());
}

}  // namespace polybox::verify
