#include "verify/check_result.h"

#include <gtest/gtest.h>

#include "verify/report_files.h"

namespace polybox::verify {
namespace {

/// A finding in line 3, column 5.
Finding At(const std::string& file, Severity severity) {
  Finding finding;
  finding.file = file;
  finding.range.line = 3;
  finding.range.column = 5;
  finding.severity = severity;
  return finding;
}

CheckResult Failed() {
  CheckResult result = {.language = "go", .check = "test", .verdict = Verdict::kFailed};
  result.command = "go test -json ./...";
  result.exit_code = 1;
  TestFailure failure;
  failure.id = "m/TestA";
  failure.test = {"m", "TestA"};
  failure.file = "a_test.go";
  failure.line = 7;
  failure.message = "two <lines>\nof text";
  failure.expected = "5";
  failure.actual = "4";
  TestReport report;
  report.passed = 3;
  report.failed = 1;
  report.skipped = 2;
  report.failures = {failure};
  AddReport(report, result);
  return result;
}

TEST(CheckText, ATestRunHasItsCountsFailuresCommandAndExitCode) {
  EXPECT_EQ(TextOf(Failed()),
            "go: failed: 3 passed, 1 failed, 0 errored, 2 skipped\n"
            "$ go test -json ./...\n"
            "\n1. m/TestA\n   a_test.go:7\n   two <lines>\n   of text\n"
            "   expected: 5\n   actual: 4\n"
            "exit: 1\n");
}

TEST(CheckText, FindingsAreLinesWithTheirCount) {
  CheckResult result = {.language = "python", .check = "lint", .verdict = Verdict::kFailed};
  result.command = "ruff check";
  result.exit_code = 1;
  Finding unused = At("a.py", Severity::kError);
  unused.rule = "F401";
  unused.message = "unused";
  unused.fix = "remove it";
  Finding placeless;
  placeless.message = "no place";
  AddReport(FindingReport{.findings = {unused, placeless}}, result);
  EXPECT_EQ(TextOf(result),
            "python: failed\n$ ruff check\na.py:3:5:F401: unused (fix: remove it)\nno place\n"
            "2 findings\nexit: 1\n");
}

TEST(CheckText, WithoutAReadableReportThereAreNoCounts) {
  CheckResult result = {.language = "node", .check = "lint", .verdict = Verdict::kUnreadable};
  result.reason = "no JSON";
  result.command = "npm run lint";
  result.exit_code = 1;
  result.log = "2 problems\n";
  result.shell_id = "7";
  AddReport(Unreadable{"no JSON"}, result);
  EXPECT_EQ(TextOf(result),
            "node: unreadable (no JSON)\n$ npm run lint\n--- end of the output ---\n2 problems\n"
            "(output_query with shell_id 7 reads the whole output)\nexit: 1\n");
  CheckResult late = {.language = "go", .check = "test", .verdict = Verdict::kTimedOut};
  late.timeout = 5;
  late.exit_code = 124;
  EXPECT_EQ(TextOf(late), "go: timed_out\ntimed out after 5s\nexit: 124\n");
}

TEST(CheckText, NoCountsAreGivenWhenNoTestRan) {
  CheckResult result;
  TestReport report;
  AddReport(report, result);
  EXPECT_FALSE(result.tests.has_value());
  report.skipped = 1;
  AddReport(report, result);
  EXPECT_TRUE(result.tests.has_value());
}

TEST(CheckText, WhatDoesNotFitIsCounted) {
  CheckResult result = Failed();
  result.failures.resize(7, result.failures.front());
  result.failures.front().message = "größer" + std::string(100, 'x');
  Shorten(result, {.entries = 3, .characters = 4});
  EXPECT_EQ(result.failures.size(), 3U);
  EXPECT_EQ(result.left_out, 4);
  EXPECT_EQ(result.failures.front().message, "grö ... (cut)");
}

TEST(ReportFiles, JunitHasTheFailuresAndIsWellFormed) {
  EXPECT_EQ(JunitOf({Failed()}),
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
            "  <testsuite name=\"go\" tests=\"6\" failures=\"1\" errors=\"0\" skipped=\"2\" "
            "time=\"0.000\">\n"
            "    <testcase classname=\"m\" name=\"TestA\" file=\"a_test.go\" line=\"7\">\n"
            "      <failure message=\"two &lt;lines&gt;&#10;of text\"></failure>\n"
            "    </testcase>\n  </testsuite>\n</testsuites>\n");
}

TEST(ReportFiles, ARunWithoutAVerdictIsNeverGreenInJunitAndSarif) {
  for (const Verdict verdict :
       {Verdict::kCrashed, Verdict::kTimedOut, Verdict::kUnreadable, Verdict::kNothingRan,
        Verdict::kToolMissing, Verdict::kBuildFailed}) {
    CheckResult result = {.language = "go", .check = "test", .verdict = verdict};
    EXPECT_NE(JunitOf({result}).find("tests=\"1\" failures=\"0\" errors=\"1\""), std::string::npos)
        << VerdictName(verdict);
    EXPECT_NE(SarifOf({result}).find("\"executionSuccessful\":false"), std::string::npos)
        << VerdictName(verdict);
  }
}

TEST(ReportFiles, SarifHasEachFindingWithItsPlace) {
  CheckResult result = {.language = "go", .check = "lint", .verdict = Verdict::kFailed};
  result.command = "vet";
  Finding finding = At("a.go", Severity::kWarning);
  finding.rule = "R";
  finding.message = "m";
  AddReport(FindingReport{.findings = {finding}}, result);
  EXPECT_EQ(SarifOf({result}),
            R"({"version":"2.1.0","runs":[{"tool":{"driver":{"name":"go lint"}},)"
            R"("invocations":[{"executionSuccessful":true,"commandLine":"vet"}],)"
            R"("results":[{"level":"warning","message":{"text":"m"},"ruleId":"R",)"
            R"("locations":[{"physicalLocation":{"artifactLocation":{"uri":"a.go"},)"
            R"("region":{"startLine":3,"startColumn":5}}}]}]}]})");
}

}  // namespace
}  // namespace polybox::verify
