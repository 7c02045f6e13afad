// TAP, versions 12 to 14: of bats, prove --verbose, node, mocha. Each list of tests has a plan
// ("1..4"), before or after its results; without one the output was cut. Lists of subtests are
// indented. prove writes the lists of several files one after the other, and a result at the end.
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "verify/collect.h"
#include "verify/parsers/all.h"
#include "verify/parsers/tap_lines.h"
#include "verify/parsers/to_report.h"
#include "verify/text.h"

namespace polybox::verify {
namespace {

constexpr std::string_view kWhat = "TAP";

/// A list of tests at one indentation.
struct List {
  std::size_t indent = 0;
  /// The name of the test that contains the list, as "# Subtest: name" tells it.
  std::string name = {};
  std::int64_t planned = -1;
  std::int64_t ran = 0;
  bool has_failure = false;
};

/// A test that failed, until its diagnostics end.
struct Failing {
  std::string name = {};
  /// The name without those of the lists around.
  std::string own_name = {};
  TapDiagnostics diagnostics = {};
};

class Stream {
 public:
  explicit Stream(const ParserInput& input) : input_(input), tests_(input.root, " > ") {}

  Result<TestReport> Read();

 private:
  void Take(std::string_view line);
  void TakeTest(const TapTest& test);
  void TakeNote(const TapLine& line);
  void Enter(std::size_t indent);
  void CloseFailing();
  void CloseList();
  Status CheckPlan();
  std::string NameOf(const TapTest& test) const;

  const ParserInput& input_;
  TestCollector tests_;
  /// The open lists, the outermost first. Never empty.
  std::vector<List> lists_{List{}};
  /// The list of subtests that ended last: the next test contains it.
  List children_;
  bool has_children_ = false;
  std::optional<Failing> failing_;
  std::string next_subtest_;
  /// The file that prove runs; "" without prove.
  std::string file_;
  bool saw_prove_ = false;
  bool saw_plan_ = false;
  bool has_result_ = false;
  bool bailed_out_ = false;
};

std::string Stream::NameOf(const TapTest& test) const {
  std::string name = {};
  for (const List& list : lists_) {
    if (!list.name.empty()) name += list.name + " > ";
  }
  if (test.name.empty()) return name + fmt::format("test {}", test.number);
  // node names a file that could not be loaded by its path.
  return name + (lists_.size() == 1 ? RelativePath(Unescaped(test.name), input_.root)
                                    : Unescaped(test.name));
}

void Stream::CloseFailing() {
  if (!failing_) return;
  const Failing failing = std::move(*failing_);
  failing_.reset();
  // prove passes the diagnostics of Test::More on through standard error.
  std::string output = failing.diagnostics.text;
  if (output.empty()) output = FindTestMoreText(input_.err, failing.own_name);
  const TapDiagnostics& known = failing.diagnostics;
  const auto [file, line] = SplitPlace(known.place);
  tests_.Failed({.suite = file_,
                 .name = failing.name,
                 .errored = known.is_error,
                 .file = file.empty() && line == 0 ? std::string_view() : file,
                 .line = line,
                 .message = known.error.empty() ? std::string_view(output) : known.error,
                 .expected = known.expected,
                 .actual = known.actual,
                 .output = output});
}

void Stream::TakeTest(const TapTest& test) {
  CloseFailing();
  List& list = lists_.back();
  ++list.ran;
  const bool failed = !test.ok && !test.is_todo && !test.is_skipped;
  list.has_failure |= failed;
  const bool contains = has_children_;
  const bool child_failed = contains && children_.has_failure;
  has_children_ = false;
  next_subtest_.clear();
  if (failed && !child_failed) {
    failing_ = Failing{NameOf(test), Unescaped(test.name), {}};
  } else if (contains) {
    return;
  } else if (test.is_skipped || test.is_todo) {
    tests_.Skipped();
  } else if (!failed) {
    tests_.Passed(file_, NameOf(test));
  }
}

/// Ends the inner list, or the list of a file of prove.
void Stream::CloseList() {
  CloseFailing();
  if (lists_.size() > 1) {
    children_ = lists_.back();
    has_children_ = true;
    lists_.pop_back();
    return;
  }
  const List list = std::exchange(lists_.front(), List{});
  if (list.planned < 0 || list.planned == list.ran) return;
  tests_.Failed({.suite = file_,
                 .errored = true,
                 .message = fmt::format("planned {} tests, but {} ran", list.planned, list.ran)});
}

void Stream::Enter(std::size_t indent) {
  while (lists_.size() > 1 && lists_.back().indent > indent) CloseList();
  if (indent <= lists_.back().indent) return;
  CloseFailing();
  // A report of a project nests some levels; a hostile one must not make the stack long.
  constexpr std::size_t kDeepest = 64;
  if (lists_.size() < kDeepest) lists_.push_back({.indent = indent, .name = next_subtest_});
  next_subtest_.clear();
}

void Stream::TakeNote(const TapLine& line) {
  constexpr std::string_view kSubtest = "# Subtest: ";
  if (line.text.starts_with(kSubtest)) {
    Enter(line.indent);
    CloseFailing();
    next_subtest_ = line.text.substr(kSubtest.size());
  } else if (failing_) {
    failing_->diagnostics.Take(line.whole);
  }
}

void Stream::Take(std::string_view whole) {
  const TapLine line = ReadTapLine(whole);
  switch (line.kind) {
    case TapLine::Kind::kTest:
      Enter(line.indent);
      return TakeTest(line.test);
    case TapLine::Kind::kPlan:
      Enter(line.indent);
      CloseFailing();
      lists_.back().planned = line.plan;
      saw_plan_ |= line.indent == 0;
      return;
    case TapLine::Kind::kBailOut:
      bailed_out_ = true;
      return tests_.Failed({.suite = file_, .errored = true, .message = whole});
    case TapLine::Kind::kProveFile:
      while (lists_.size() > 1) CloseList();
      CloseList();
      saw_prove_ = true;
      file_ = line.text;
      return;
    case TapLine::Kind::kProveResult:
      has_result_ = true;
      return;
    case TapLine::Kind::kNote:
      return TakeNote(line);
  }
}

Status Stream::CheckPlan() {
  if (bailed_out_) return {};
  if (saw_prove_ && !has_result_) return NotThis(kWhat, "prove did not write its result");
  if (!saw_prove_ && !saw_plan_) return NotThis(kWhat, "it has no plan such as 1..4");
  return {};
}

Result<TestReport> Stream::Read() {
  const std::string_view text = ReportText(input_);
  if (!EndsInLine(text)) return NotThis(kWhat, "the output ends within a line");
  std::string_view rest = text;
  std::string_view line = {};
  while (TakeLine(rest, line)) Take(line);
  POLYBOX_RETURN_IF_ERROR(CheckPlan());
  while (lists_.size() > 1) CloseList();
  CloseList();
  return tests_.Take();
}

}  // namespace

Report ParseTap(const ParserInput& input) {
  return ToReport(Stream(input).Read());
}

}  // namespace polybox::verify
