#include "verify/report_files.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/printable.h"
#include "json/write.h"

namespace polybox::verify {
namespace {

/// Returns the text for an attribute or an element. XML 1.0 has no form for other control
/// characters.
std::string Escaped(std::string_view text) {
  std::string escaped;
  for (const char c : ToUtf8(text)) {
    const auto code = static_cast<unsigned char>(c);
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\n':
        escaped += "&#10;";
        break;
      case '\t':
        escaped += "&#9;";
        break;
      default:
        escaped += code < 0x20 || code == 0x7f ? '?' : c;
    }
  }
  return escaped;
}

bool TellsAboutCode(const CheckResult& result) {
  return result.verdict == Verdict::kPassed || result.verdict == Verdict::kFailed;
}

std::string FailureCase(const TestFailure& failure) {
  const std::string_view element = failure.errored ? "error" : "failure";
  std::string attributes = fmt::format("classname=\"{}\" name=\"{}\"", Escaped(failure.test.suite),
                                       Escaped(failure.test.name));
  if (!failure.file.empty()) attributes += fmt::format(" file=\"{}\"", Escaped(failure.file));
  if (failure.line > 0) attributes += fmt::format(" line=\"{}\"", failure.line);
  return fmt::format("    <testcase {}>\n      <{} message=\"{}\">{}</{}>\n    </testcase>\n",
                     attributes, element, Escaped(failure.message), Escaped(failure.output),
                     element);
}

/// Returns a test case that says why there is no verdict about the tests.
std::string VerdictCase(const CheckResult& result) {
  std::string why = result.reason;
  for (const Finding& error : result.build_errors) {
    why += fmt::format("\n{}:{}: {}", error.file, error.range.line, error.message);
  }
  return fmt::format(
      "    <testcase classname=\"polybox\" name=\"{}\">\n      <error message=\"{}\">{}</error>\n"
      "    </testcase>\n",
      VerdictName(result.verdict), VerdictName(result.verdict), Escaped(why + "\n" + result.log));
}

std::string SuiteOf(const CheckResult& result) {
  const Counts counts = result.tests.value_or(Counts());
  const int unknown = TellsAboutCode(result) ? 0 : 1;
  std::string text = fmt::format(
      "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" "
      "time=\"{:.3f}\">\n",
      Escaped(result.language),
      counts.passed + counts.failed + counts.errored + counts.skipped + unknown, counts.failed,
      counts.errored + unknown, counts.skipped, result.seconds);
  for (const TestFailure& failure : result.failures) text += FailureCase(failure);
  for (const std::string& id : result.passed_ids) {
    text += fmt::format("    <testcase name=\"{}\"/>\n", Escaped(id));
  }
  if (unknown != 0) text += VerdictCase(result);
  return text + "  </testsuite>\n";
}

std::string_view LevelOf(Severity severity) {
  return severity == Severity::kNote      ? "note"
         : severity == Severity::kWarning ? "warning"
                                          : "error";
}

json::Object RegionOf(const Range& range) {
  json::Object region = {{"startLine", range.line}};
  if (range.column > 0) region["startColumn"] = range.column;
  if (range.end_line > 0) region["endLine"] = range.end_line;
  if (range.end_column > 0) region["endColumn"] = range.end_column;
  return region;
}

json::Object SarifResult(const Finding& finding) {
  json::Object result = {{"level", LevelOf(finding.severity)},
                         {"message", json::Object{{"text", json::Text(finding.message)}}}};
  if (!finding.rule.empty()) result["ruleId"] = json::Text(finding.rule);
  if (finding.file.empty()) return result;
  json::Object place = {{"artifactLocation", json::Object{{"uri", json::Text(finding.file)}}}};
  if (finding.range.line > 0) place["region"] = RegionOf(finding.range);
  result["locations"] = json::Array{json::Object{{"physicalLocation", std::move(place)}}};
  return result;
}

json::Object SarifRun(const CheckResult& result) {
  json::Array found;
  for (const Finding& finding : result.findings) found.push_back(SarifResult(finding));
  json::Object invocation = {{"executionSuccessful", TellsAboutCode(result)},
                             {"commandLine", json::Text(result.command)}};
  if (result.exit_code) invocation["exitCode"] = *result.exit_code;
  const std::string name = result.language + " " + result.check;
  return {{"tool", json::Object{{"driver", json::Object{{"name", json::Text(name)}}}}},
          {"invocations", json::Array{std::move(invocation)}},
          {"results", std::move(found)}};
}

}  // namespace

std::string JunitOf(const std::vector<CheckResult>& results) {
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n";
  for (const CheckResult& result : results) text += SuiteOf(result);
  return text + "</testsuites>\n";
}

std::string SarifOf(const std::vector<CheckResult>& results) {
  json::Array runs;
  for (const CheckResult& result : results) runs.push_back(SarifRun(result));
  return json::Write(json::Object{{"version", "2.1.0"}, {"runs", std::move(runs)}});
}

}  // namespace polybox::verify
