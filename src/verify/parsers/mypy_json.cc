// `mypy --output=json --junit-xml={report}`: an object per line. The list has no end, but the JUnit
// report, which mypy writes last, tells that the run is complete. Columns count from 0.
#include <fmt/format.h>

#include "verify/collect.h"
#include "verify/json_text.h"
#include "verify/parsers/all.h"
#include "verify/parsers/to_report.h"
#include "verify/text.h"

namespace polybox::verify {
namespace {

constexpr std::string_view kWhat = "mypy's JSON";

/// Returns a column that counts from 1; 0 if the tool did not tell it (mypy writes -1).
std::int64_t Column(const json::Object& finding, std::string_view name) {
  return finding.contains(name) ? NumberIn(finding, name) + 1 : 0;
}

/// Fails if mypy did not come to its end, or if it counted messages that the list lacks.
Status CheckEnd(const ParserInput& input, bool is_empty) {
  if (!Trim(input.report).ends_with("</testsuite>")) {
    return NotThis(kWhat, "no whole JUnit report beside it (--junit-xml)");
  }
  const bool is_clean = input.report.find("errors=\"0\" failures=\"0\"") != std::string_view::npos;
  if (is_empty && !is_clean) return NotThis(kWhat, "no message, but the JUnit report has some");
  return {};
}

Result<FindingReport> Read(const ParserInput& input) {
  FindingCollector findings(input.root);
  const auto visit = [&](const json::Object& finding) -> Status {
    if (TextIn(finding, "message").empty()) return NotThis(kWhat, "an object without `message`");
    findings.Add({.file = TextIn(finding, "file"),
                  .range = {.line = NumberIn(finding, "line"),
                            .column = Column(finding, "column"),
                            .end_line = NumberIn(finding, "end_line"),
                            .end_column = Column(finding, "end_column")},
                  .severity = SeverityOf(TextIn(finding, "severity")),
                  .rule = TextIn(finding, "code"),
                  .message = TextIn(finding, "message"),
                  .fix = TextIn(finding, "hint")});
    return {};
  };
  // Versions before 1.11 write text in spite of the option.
  const auto other = [&](std::string_view line) -> Status {
    if (line.starts_with("Success: ") || line.starts_with("Found ")) return {};
    return NotThis(kWhat, fmt::format("the line \"{}\"", Kept(line, 200)));
  };
  POLYBOX_RETURN_IF_ERROR(ReadJsonLines(input.out, kWhat, {.visit = visit, .other = other}));
  FindingReport report = findings.Take();
  POLYBOX_RETURN_IF_ERROR(CheckEnd(input, report.findings.empty()));
  return report;
}

}  // namespace

Report ParseMypyJson(const ParserInput& input) {
  return ToReport(Read(input));
}

}  // namespace polybox::verify
