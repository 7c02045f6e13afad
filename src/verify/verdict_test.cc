#include "verify/verdict.h"

#include <gtest/gtest.h>

#include "verify/check_result.h"

namespace polybox::verify {
namespace {

using jail::End;
using enum ExitMeaning;
using enum Verdict;

jail::Outcome Exit(int code) {
  jail::Outcome outcome;
  outcome.exit_code = code;
  return outcome;
}

jail::Outcome Killed(End end, int signal) {
  jail::Outcome outcome;
  outcome.end = end;
  outcome.signal = signal;
  return outcome;
}

TestReport Tests(std::int64_t passed, std::int64_t failed, std::int64_t skipped = 0) {
  TestReport report;
  report.passed = passed;
  report.failed = failed;
  report.skipped = skipped;
  report.failures.resize(static_cast<std::size_t>(failed));
  return report;
}

TestReport Unbuilt() {
  TestReport report = Tests(3, 0);
  report.build_errors.resize(1);
  return report;
}

const Report kFinding = FindingReport{.findings = std::vector<Finding>(1)};
const Report kNoFinding = FindingReport{};

struct Row {
  std::string what;
  Evidence evidence;
  Verdict verdict;
};

TEST(Verdicts, ARunIsGreenOnlyIfTheToolTheExitCodeAndTheReportAgree) {
  const std::vector<Row> rows = {
      {"tests passed", {Exit(0), kOk, Tests(2, 0)}, kPassed},
      {"tests passed, some skipped", {Exit(0), kOk, Tests(1, 0, 4)}, kPassed},
      {"a test failed", {Exit(1), kFindings, Tests(2, 1)}, kFailed},
      {"a failure behind exit 0", {Exit(0), kOk, Tests(2, 1)}, kFailed},
      {"a test could not be built", {Exit(1), kFindings, Unbuilt()}, kBuildFailed},
      {"no test", {Exit(0), kOk, Tests(0, 0)}, kNothingRan},
      {"all tests skipped", {Exit(0), kOk, Tests(0, 0, 3)}, kNothingRan},
      {"no test, by exit code", {Exit(5), kNothing, Tests(0, 0)}, kNothingRan},
      {"no readable report, by exit code", {Exit(5), kNothing, Unreadable{"x"}}, kNothingRan},
      {"an exit code that contradicts", {Exit(5), kNothing, Tests(2, 0)}, kUnreadable},
      {"exit 1 without a failure", {Exit(1), kFindings, Tests(2, 0)}, kUnreadable},
      {"an exit code that nobody knows", {Exit(3), kToolFailed, Tests(2, 0)}, kCrashed},
      {"a failure, and the tool failed", {Exit(3), kToolFailed, Tests(2, 1)}, kCrashed},
      {"no finding", {Exit(0), kOk, kNoFinding}, kPassed},
      {"a finding", {Exit(1), kFindings, kFinding}, kFailed},
      {"a finding behind exit 0", {Exit(0), kOk, kFinding}, kFailed},
      {"findings by code alone", {Exit(1), kFindings, kNoFinding}, kUnreadable},
      {"the linter failed", {Exit(2), kToolFailed, kNoFinding}, kCrashed},
      {"the linter failed late", {Exit(2), kToolFailed, kFinding}, kCrashed},
      {"nothing to lint", {Exit(5), kNothing, kNoFinding}, kNothingRan},
      {"all formatted", {Exit(0), kOk, FormatReport{}}, kPassed},
      {"not formatted", {Exit(1), kFindings, FormatReport{{{"a", ""}}}}, kFailed},
      {"no coverage", {Exit(0), kOk, CoverageReport{}}, kNothingRan},
      {"unreadable", {Exit(0), kOk, Unreadable{"cut"}}, kUnreadable},
      {"unreadable after a failure", {Exit(1), kFindings, Unreadable{"cut"}}, kUnreadable},
      {"a shell without the program", {Exit(127), kToolFailed, Unreadable{"x"}}, kToolMissing},
      {"missing", {Exit(127), kToolFailed, Unreadable{"x"}, {"pytest"}}, kToolMissing},
      {"out of time", {Killed(End::kTimedOut, 9), kOk, Tests(2, 0)}, kTimedOut},
      {"out of time after failures", {Killed(End::kTimedOut, 9), kOk, Tests(2, 1)}, kTimedOut},
      {"killed", {Killed(End::kSignalled, 9), kOk, Tests(2, 0)}, kCrashed},
      {"killed with findings", {Killed(End::kSignalled, 11), kOk, kFinding}, kCrashed},
      {"out of memory", {Killed(End::kOutOfMemory, 9), kOk, kNoFinding}, kCrashed},
  };
  for (const Row& row : rows) {
    const Judgement judgement = Judge(row.evidence);
    EXPECT_EQ(VerdictName(judgement.verdict), VerdictName(row.verdict)) << row.what;
    const bool is_plain = row.verdict == kPassed || row.verdict == kFailed ||
                          row.verdict == kBuildFailed || row.verdict == kTimedOut;
    EXPECT_EQ(judgement.reason.empty(), is_plain) << row.what << ": " << judgement.reason;
  }
}

TEST(Verdicts, NoEvidenceButAnAgreeingOneIsGreen) {
  const std::vector<Report> reports = {Unreadable{"x"}, Tests(2, 0),    Tests(2, 1),
                                       Tests(0, 0),     Unbuilt(),      kFinding,
                                       kNoFinding,      FormatReport{}, CoverageReport{}};
  for (const Report& report : reports) {
    for (const ExitMeaning meaning : {kFindings, kNothing, kToolFailed}) {
      EXPECT_NE(Judge({Exit(1), meaning, report}).verdict, kPassed);
    }
    for (const End end : {End::kSignalled, End::kTimedOut, End::kCpuLimit, End::kOutOfMemory,
                          End::kOutputLimit, End::kCancelled, End::kProcessLimit}) {
      EXPECT_NE(Judge({Killed(end, 9), kOk, report}).verdict, kPassed);
    }
    EXPECT_NE(Judge({Exit(0), kOk, report, {"tool"}}).verdict, kPassed);
  }
}

TEST(Verdicts, SeveralResultsAreGreenOnlyIfEachIs) {
  const auto result = [](Verdict verdict) {
    CheckResult one;
    one.verdict = verdict;
    return one;
  };
  EXPECT_EQ(VerdictOf({}), kNothingRan);
  EXPECT_EQ(VerdictOf({result(kPassed), result(kPassed)}), kPassed);
  EXPECT_EQ(VerdictOf({result(kPassed), result(kUnreadable), result(kFailed)}), kUnreadable);
}

}  // namespace
}  // namespace polybox::verify
