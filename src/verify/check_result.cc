#include "verify/check_result.h"

#include <algorithm>

#include "base/overloaded.h"

namespace polybox::verify {
namespace {

/// Cuts the text between two characters and says so.
void ShortenText(std::string& text, std::size_t most) {
  if (text.size() <= most) return;
  std::size_t end = most;
  // The bytes 10xxxxxx continue a character of UTF-8.
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U) --end;
  text.resize(end);
  text += " ... (cut)";
}

template <typename T>
void ShortenList(std::vector<T>& list, std::size_t most, std::int64_t& left_out) {
  if (list.size() <= most) return;
  left_out += static_cast<std::int64_t>(list.size() - most);
  list.resize(most);
}

void AddTests(TestReport report, CheckResult& result) {
  if (HasRun(report)) {
    result.tests = Counts{report.passed, report.failed, report.errored, report.skipped};
  }
  result.failures = std::move(report.failures);
  result.build_errors = std::move(report.build_errors);
  result.passed_ids = std::move(report.passed_ids);
}

void AddFindings(FindingReport report, CheckResult& result) {
  result.findings_count = static_cast<std::int64_t>(report.findings.size()) + report.omitted;
  result.left_out += report.omitted;
  result.findings = std::move(report.findings);
}

void AddCoverage(const CoverageReport& report, CheckResult& result) {
  for (const CoveredFile& file : report.files) {
    FileCoverage row = {.file = file.file, .lines = static_cast<std::int64_t>(file.lines.size())};
    row.covered = std::ranges::count_if(file.lines, [](const LineHits& l) { return l.hits > 0; });
    result.coverage.push_back(std::move(row));
  }
}

}  // namespace

void AddReport(Report report, CheckResult& result) {
  std::visit(Overloaded{[](Unreadable&&) {},
                        [&](TestReport&& tests) { AddTests(std::move(tests), result); },
                        [&](FindingReport&& found) { AddFindings(std::move(found), result); },
                        [&](FormatReport&& format) {
                          result.findings_count = static_cast<std::int64_t>(format.files.size());
                          result.unformatted = std::move(format.files);
                        },
                        [&](CoverageReport&& coverage) { AddCoverage(coverage, result); }},
             std::move(report));
}

Verdict VerdictOf(const std::vector<CheckResult>& results) {
  for (const CheckResult& each : results) {
    if (each.verdict != Verdict::kPassed) return each.verdict;
  }
  return results.empty() ? Verdict::kNothingRan : Verdict::kPassed;
}

void Shorten(CheckResult& result, const ShownLimits& limits) {
  ShortenList(result.failures, limits.entries, result.left_out);
  ShortenList(result.build_errors, limits.entries, result.left_out);
  ShortenList(result.findings, limits.entries, result.left_out);
  ShortenList(result.unformatted, limits.entries, result.left_out);
  ShortenList(result.coverage, limits.entries, result.left_out);
  for (TestFailure& failure : result.failures) {
    for (std::string* text :
         {&failure.message, &failure.expected, &failure.actual, &failure.output}) {
      ShortenText(*text, limits.characters);
    }
  }
  for (std::vector<Finding>* findings : {&result.findings, &result.build_errors}) {
    for (Finding& finding : *findings) {
      ShortenText(finding.message, limits.characters);
      ShortenText(finding.fix, limits.characters);
    }
  }
  for (UnformattedFile& file : result.unformatted) ShortenText(file.diff, limits.characters);
}

}  // namespace polybox::verify
