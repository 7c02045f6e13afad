// The text of `python -m unittest`, with and without -v: on standard error. It ends with "OK" or
// "FAILED (failures=2, errors=1)" behind "Ran 6 tests in 0.003s".
#include <algorithm>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "verify/collect.h"
#include "verify/failure_text.h"
#include "verify/parsers/all.h"
#include "verify/parsers/to_report.h"
#include "verify/text.h"

namespace polybox::verify {
namespace {

constexpr std::string_view kWhat = "the text of unittest";
constexpr std::string_view kRule =
    "======================================================================";
constexpr std::string_view kThinRule =
    "----------------------------------------------------------------------";

/// Returns the number behind the word: 2 for "failures=" in "FAILED (failures=2, errors=1)".
std::int64_t CountOf(std::string_view summary, std::string_view word) {
  for (std::size_t at = summary.find(word); at != std::string_view::npos;
       at = summary.find(word, at + 1)) {
    // "expected failures=1" is not "failures=1".
    const char before = at == 0 ? '(' : summary[at - 1];
    const bool follows_word = before == ' ' && at >= 2 && summary[at - 2] != ',';
    if (follows_word) continue;
    const std::string_view rest = summary.substr(at + word.size());
    return NumberOr0(rest.substr(0, rest.find_first_not_of("0123456789")));
  }
  return 0;
}

/// The header of a failure: "FAIL: test_sub (test_unit.A.test_sub) [odd one] (i=1)".
struct Header {
  bool errored = false;
  std::string_view suite = {};
  std::string_view name = {};
};

/// Before Python 3.11, the part in brackets lacks the name of the test.
Header ReadHeader(std::string_view line) {
  Header header{.errored = line.starts_with("ERROR: ")};
  line = line.substr(line.find(' ') + 1);
  const std::size_t open = line.find(" (");
  const std::size_t close = line.find(')', open);
  header.name = line.substr(0, open);
  if (open == std::string_view::npos || close == std::string_view::npos) return header;
  header.suite = line.substr(open + 2, close - open - 2);
  if (header.suite.ends_with(fmt::format(".{}", header.name))) {
    header.suite.remove_suffix(header.name.size() + 1);
  }
  return header;
}

bool IsHeader(std::string_view line) {
  return line.starts_with("FAIL: ") || line.starts_with("ERROR: ");
}

/// Returns the last line that is not indented: "AssertionError: 2 != 3", with what follows it.
std::string_view MessageOf(std::string_view trace) {
  std::string_view rest = trace;
  std::string_view line = {};
  std::string_view message = trace;
  bool in_trace = false;
  while (true) {
    const std::string_view here = rest;
    if (!TakeLine(rest, line)) break;
    if (line.starts_with("Traceback (")) {
      in_trace = true;
    } else if (in_trace && !line.empty() && line[0] != ' ') {
      message = here;
      in_trace = false;
    }
  }
  return message;
}

/// Returns the last frame of the trace: the innermost call, which is mostly the assertion.
std::string_view LastFrame(std::string_view trace) {
  const std::size_t at = trace.rfind("  File \"");
  return at == std::string_view::npos ? trace : trace.substr(at);
}

class Text {
 public:
  explicit Text(const ParserInput& input)
      : rest_(input.err), root_(input.root), tests_(input.root, ".") {}

  Result<TestReport> Read() {
    std::string_view line;
    while (TakeLine(rest_, line)) {
      if (line == kRule) TakeFailure();
      if (line.starts_with("Ran ") && line.find(" test") != std::string_view::npos) {
        ran_ = CountOf(line, "Ran ");
      }
      const bool ends = line == "OK" || line.starts_with("OK (") || line.starts_with("FAILED (") ||
                        line.starts_with("NO TESTS RAN");
      if (ends && ran_ >= 0) summary_ = line;
    }
    return Finish();
  }

 private:
  void TakeFailure();
  Result<TestReport> Finish();

  std::string_view rest_;
  std::string_view root_;
  TestCollector tests_;
  std::int64_t ran_ = -1;
  /// Failures of set-ups, which unittest does not count as tests.
  std::int64_t setups_ = 0;
  std::string_view summary_;
};

void Text::TakeFailure() {
  std::string_view line = {};
  if (!TakeLine(rest_, line) || !IsHeader(line)) return;
  const Header header = ReadHeader(line);
  const bool is_setup = header.name.starts_with("setUp") || header.name.starts_with("tearDown");
  setups_ += is_setup ? 1 : 0;
  while (line != kThinRule && TakeLine(rest_, line)) {
  }
  const std::string_view from = rest_;
  std::string_view before = rest_;
  while (TakeLine(rest_, line) && line != kRule && line != kThinRule) before = rest_;
  const std::string_view trace = from.substr(0, from.size() - before.size());
  rest_ = before;
  const Location place = FindLocation(LastFrame(trace), root_, "");
  tests_.Failed({.suite = header.suite,
                 .name = header.name,
                 .errored = header.errored,
                 .file = place.file,
                 .line = place.line,
                 .message = MessageOf(trace),
                 .output = trace});
}

Result<TestReport> Text::Finish() {
  if (ran_ < 0 || summary_.empty()) return NotThis(kWhat, "it has no summary");
  const std::int64_t failures = CountOf(summary_, "failures=");
  const std::int64_t errors = CountOf(summary_, "errors=");
  const std::int64_t unexpected = CountOf(summary_, "unexpected successes=");
  const std::int64_t skipped =
      CountOf(summary_, "skipped=") + CountOf(summary_, "expected failures=");
  for (std::int64_t i = 0; i < std::min<std::int64_t>(unexpected, ran_); ++i) {
    tests_.Failed({.name = "unexpected success", .message = "the test should fail, but passed"});
  }
  const std::int64_t shown = tests_.total() - unexpected;
  if (shown != failures + errors) {
    return NotThis(kWhat,
                   fmt::format("it counts {} failures but shows {}", failures + errors, shown));
  }
  // A test with several failed subtests ran once, so the difference can be too small.
  const std::int64_t passed = ran_ - (shown - setups_) - unexpected - skipped;
  tests_.Count(std::max<std::int64_t>(passed, 0), skipped);
  return tests_.Take();
}

}  // namespace

Report ParseUnittest(const ParserInput& input) {
  if (!EndsInLine(input.err)) {
    return Unreadable{NotThis(kWhat, "the output ends within a line").message()};
  }
  return ToReport(Text(input).Read());
}

}  // namespace polybox::verify
