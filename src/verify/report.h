// What the report of a verification tool says: the values that parsers return. A report holds facts
// of the tool's output only. The verdict over a run also needs the exit code and how the command
// ended.
//
// All texts are valid UTF-8 and bounded (verify/text.h). Paths are relative to the root of the
// project where the file lies below the root.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "json/member.h"

namespace polybox::verify {

/// A place in a file. Lines and columns count from 1; 0 means that the tool did not tell.
struct Range {
  std::int64_t line = 0;
  std::int64_t column = 0;
  std::int64_t end_line = 0;
  std::int64_t end_column = 0;

  static constexpr auto Members() {
    return std::tuple(json::Optional("line", &Range::line),
                      json::Optional("column", &Range::column),
                      json::Optional("end_line", &Range::end_line),
                      json::Optional("end_column", &Range::end_column));
  }
  bool operator==(const Range&) const = default;
};

enum class Severity { kError, kWarning, kNote };

constexpr std::array<std::pair<Severity, std::string_view>, 3> NamesOf(Severity /*severity*/) {
  return {
      {{Severity::kError, "error"}, {Severity::kWarning, "warning"}, {Severity::kNote, "note"}}};
}

/// A complaint of a linter, compiler or type checker.
struct Finding {
  /// "" for a finding about the whole project.
  std::string file = {};
  Range range = {};
  Severity severity = Severity::kError;
  /// The tool's name for the kind of finding, such as "F401"; "" if it has none.
  std::string rule = {};
  std::string message = {};
  /// What the tool proposes: a sentence or the new text; "" if it proposes nothing.
  std::string fix = {};

  static constexpr auto Members() {
    return std::tuple(
        json::Required("file", &Finding::file), json::Required("range", &Finding::range),
        json::Required("severity", &Finding::severity), json::Required("rule", &Finding::rule),
        json::Required("message", &Finding::message), json::Required("fix", &Finding::fix));
  }
  bool operator==(const Finding&) const = default;
};

/// The findings of a linter or type checker. No findings means: the tool looked and found nothing.
struct FindingReport {
  std::vector<Finding> findings = {};
  /// Findings beyond the limit of kept ones (kMostFindings): they are counted only.
  std::int64_t omitted = 0;

  static constexpr auto Members() {
    return std::tuple(json::Required("findings", &FindingReport::findings),
                      json::Required("omitted", &FindingReport::omitted));
  }
  bool operator==(const FindingReport&) const = default;
};

/// A test as its runner names it.
struct TestName {
  /// What contains the test, in the words of the runner's own selector: a Go import path, a Python
  /// file, a test binary of cargo, a class. "" if the runner has no such level.
  std::string suite = {};
  /// The test within the suite, in the words of the selector.
  std::string name = {};

  static constexpr auto Members() {
    return std::tuple(json::Required("suite", &TestName::suite),
                      json::Required("name", &TestName::name));
  }
  auto operator<=>(const TestName&) const = default;
};

/// A test that failed, or a step of the run that is no test, such as the set-up of a suite.
struct TestFailure {
  /// Suite and name joined as the runner's users write them: "tests/test_a.py::test_x". Unique in a
  /// report. Only for display and comparison: code that reruns a test uses `test`.
  std::string id = {};
  TestName test = {};
  /// False for a failed assertion; true if the test could not run to its end: an exception, a
  /// panic, a crash, a set-up that failed.
  bool errored = false;
  /// Where the test failed, or where it is defined if the tool tells only that.
  std::string file = {};
  std::int64_t line = 0;
  std::string message = {};
  /// The two values of a failed comparison as the tool wrote them; both "" if it wrote none.
  std::string expected = {};
  std::string actual = {};
  /// What the test wrote, and the tool's stack trace.
  std::string output = {};

  static constexpr auto Members() {
    return std::tuple(
        json::Required("id", &TestFailure::id), json::Required("test", &TestFailure::test),
        json::Required("errored", &TestFailure::errored),
        json::Required("file", &TestFailure::file), json::Required("line", &TestFailure::line),
        json::Required("message", &TestFailure::message),
        json::Required("expected", &TestFailure::expected),
        json::Required("actual", &TestFailure::actual),
        json::Required("output", &TestFailure::output));
  }
  bool operator==(const TestFailure&) const = default;
};

/// The results of a test run. The counts are those of test cases; a test that only contains other
/// tests is not counted unless it failed by itself.
struct TestReport {
  std::int64_t passed = 0;
  std::int64_t failed = 0;
  /// Tests, and set-ups of suites, that could not run to their end.
  std::int64_t errored = 0;
  std::int64_t skipped = 0;
  /// One for each of `failed` and `errored`, up to kMostFailures.
  std::vector<TestFailure> failures = {};
  /// The ids of passed tests, up to kMostPassedIds, where the tool names them. For comparisons.
  std::vector<std::string> passed_ids = {};
  /// Why the tests, or some of them, could not be built. Not empty: the build failed.
  std::vector<Finding> build_errors = {};

  static constexpr auto Members() {
    return std::tuple(json::Required("passed", &TestReport::passed),
                      json::Required("failed", &TestReport::failed),
                      json::Required("errored", &TestReport::errored),
                      json::Required("skipped", &TestReport::skipped),
                      json::Required("failures", &TestReport::failures),
                      json::Required("passed_ids", &TestReport::passed_ids),
                      json::Required("build_errors", &TestReport::build_errors));
  }
  bool operator==(const TestReport&) const = default;
};

/// A file that is not formatted as the formatter wants.
struct UnformattedFile {
  std::string file = {};
  /// A unified diff from the present text to the wanted one; "" if the tool only names files.
  std::string diff = {};

  static constexpr auto Members() {
    return std::tuple(json::Required("file", &UnformattedFile::file),
                      json::Required("diff", &UnformattedFile::diff));
  }
  bool operator==(const UnformattedFile&) const = default;
};

/// The answer of a formatter that only checks. No files means: all are formatted.
struct FormatReport {
  std::vector<UnformattedFile> files = {};

  static constexpr auto Members() {
    return std::tuple(json::Required("files", &FormatReport::files));
  }
  bool operator==(const FormatReport&) const = default;
};

/// How often a line of code ran.
struct LineHits {
  std::int64_t line = 0;
  std::int64_t hits = 0;

  static constexpr auto Members() {
    return std::tuple(json::Required("line", &LineHits::line),
                      json::Required("hits", &LineHits::hits));
  }
  bool operator==(const LineHits&) const = default;
};

struct CoveredFile {
  std::string file = {};
  /// The lines with code, in ascending order. A line with 0 hits was not covered.
  std::vector<LineHits> lines = {};

  static constexpr auto Members() {
    return std::tuple(json::Required("file", &CoveredFile::file),
                      json::Required("lines", &CoveredFile::lines));
  }
  bool operator==(const CoveredFile&) const = default;
};

/// Which lines ran. The report never says anything about tests, so it is never green by itself.
struct CoverageReport {
  std::vector<CoveredFile> files = {};

  static constexpr auto Members() {
    return std::tuple(json::Required("files", &CoverageReport::files));
  }
  bool operator==(const CoverageReport&) const = default;
};

/// The output is not what the parser reads, ends too early, or contradicts itself or the exit code.
/// Never the same as a report without findings.
struct Unreadable {
  /// A sentence without its full stop; never "".
  std::string reason = {};

  static constexpr auto Members() {
    return std::tuple(json::Required("reason", &Unreadable::reason));
  }
  bool operator==(const Unreadable&) const = default;
};

using Report = std::variant<Unreadable, TestReport, FindingReport, FormatReport, CoverageReport>;

/// Returns whether the report has nothing against the code: at least one test passed and none
/// failed, or no findings, or no unformatted files. Coverage is never clean.
bool IsClean(const Report& report);

}  // namespace polybox::verify
