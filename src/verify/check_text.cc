// The text about the result of a check, for models and people (TextOf in check_result.h).
#include <fmt/format.h>

#include "base/split.h"
#include "verify/check_result.h"
#include "verify/detector.h"

namespace polybox::verify {
namespace {

/// Returns "1 finding", "2 findings".
std::string Count(std::int64_t count, std::string_view one) {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

/// Returns the text with spaces in front of each line, and a line feed at its end.
std::string Indented(const std::string& text) {
  std::string indented;
  std::string rest = text;
  while (rest.ends_with('\n')) rest.pop_back();
  for (const std::string& line : Split(rest, '\n')) indented += "   " + line + "\n";
  return indented;
}

/// Returns the line of a finding, as in "a.go:3:5:unused: message".
std::string FindingLine(const Finding& finding) {
  std::string line = finding.file;
  if (finding.range.line > 0) line += fmt::format(":{}", finding.range.line);
  if (finding.range.column > 0) line += fmt::format(":{}", finding.range.column);
  if (!finding.rule.empty()) line += (line.empty() ? "" : ":") + finding.rule;
  std::string text = line.empty() ? finding.message : line + ": " + finding.message;
  if (!finding.fix.empty() && finding.fix.find('\n') == std::string::npos) {
    text += fmt::format(" (fix: {})", finding.fix);
  }
  return text + "\n";
}

std::string FailureText(std::size_t number, const TestFailure& failure) {
  std::string text =
      fmt::format("\n{}. {}{}\n", number, failure.id, failure.errored ? " (error)" : "");
  if (!failure.file.empty()) {
    text += "   " + failure.file;
    text += failure.line > 0 ? fmt::format(":{}\n", failure.line) : "\n";
  }
  if (!failure.message.empty()) text += Indented(failure.message);
  if (!failure.expected.empty() || !failure.actual.empty()) {
    text += Indented(fmt::format("expected: {}\nactual: {}", failure.expected, failure.actual));
  }
  if (!failure.output.empty() && failure.output != failure.message) {
    text += "   --- output ---\n" + Indented(failure.output);
  }
  return text;
}

/// Returns the first line: language, verdict, counts and reason.
std::string HeadLine(const CheckResult& result) {
  std::string line = result.language;
  if (!result.project.empty()) line += fmt::format(" ({})", result.project);
  line += fmt::format(": {}", VerdictName(result.verdict));
  if (result.tests) {
    line += fmt::format(": {} passed, {} failed, {} errored, {} skipped", result.tests->passed,
                        result.tests->failed, result.tests->errored, result.tests->skipped);
  }
  if (!result.build_errors.empty()) {
    line += ": " + Count(static_cast<std::int64_t>(result.build_errors.size()), "build error");
  }
  if (!result.reason.empty()) line += fmt::format(" ({})", result.reason);
  return line + "\n";
}

std::string CoverageText(const CheckResult& result) {
  std::string text;
  std::int64_t lines = 0;
  std::int64_t covered = 0;
  for (const FileCoverage& file : result.coverage) {
    lines += file.lines;
    covered += file.covered;
    text += fmt::format("{}: {} of {} lines\n", file.file, file.covered, file.lines);
  }
  if (lines == 0) return text;
  return text + fmt::format("total: {} of {} lines ({:.1f} %)\n", covered, lines,
                            100.0 * static_cast<double>(covered) / static_cast<double>(lines));
}

std::string ListsText(const CheckResult& result) {
  std::string text;
  for (const Finding& finding : result.build_errors) text += FindingLine(finding);
  for (std::size_t i = 0; i < result.failures.size(); ++i) {
    text += FailureText(i + 1, result.failures[i]);
  }
  for (const Finding& finding : result.findings) text += FindingLine(finding);
  for (const UnformattedFile& file : result.unformatted) {
    text += file.file + ": not formatted\n" + (file.diff.empty() ? "" : Indented(file.diff));
  }
  text += CoverageText(result);
  if (result.left_out > 0) text += fmt::format("({} more not shown)\n", result.left_out);
  if (!result.findings_count) return text;
  const bool is_format = result.check == CheckName(Check::kFormat);
  return text + Count(*result.findings_count, is_format ? "unformatted file" : "finding") + "\n";
}

}  // namespace

std::string TextOf(const CheckResult& result) {
  std::string text = HeadLine(result);
  if (!result.command.empty()) text += "$ " + result.command + "\n";
  text += ListsText(result);
  if (!result.log.empty()) text += "--- end of the output ---\n" + result.log;
  if (!text.ends_with('\n')) text += '\n';
  if (result.shell_id) {
    text +=
        fmt::format("(output_query with shell_id {} reads the whole output)\n", *result.shell_id);
  }
  if (result.verdict == Verdict::kTimedOut) {
    text += fmt::format("timed out after {:g}s\n", result.timeout);
  }
  if (result.exit_code) text += fmt::format("exit: {}\n", *result.exit_code);
  return text;
}

}  // namespace polybox::verify
