// `biome check|lint --reporter=json`. Biome counts lines from 1; 0 stands for the whole file.
#include "verify/collect.h"
#include "verify/json_text.h"
#include "verify/parsers/all.h"
#include "verify/parsers/to_report.h"
#include "verify/text.h"

namespace polybox::verify {
namespace {

constexpr std::string_view kWhat = "Biome's JSON";

std::string_view FixOf(const json::Object& diagnostic) {
  const json::Array* advices = ArrayIn(diagnostic, "advices");
  if (advices == nullptr || advices->empty() || !advices->front().is_object()) return {};
  return TextIn(advices->front().get_object(), "text");
}

Status Add(const json::Object& diagnostic, FindingCollector& findings) {
  POLYBOX_ASSIGN_OR_RETURN(const json::Object* at, NeedObject(diagnostic, "location", kWhat));
  const json::Object* begin = ObjectIn(*at, "start");
  const json::Object* end = ObjectIn(*at, "end");
  Range range;
  if (begin != nullptr) range = {NumberIn(*begin, "line"), NumberIn(*begin, "column"), 0, 0};
  if (end != nullptr) {
    range.end_line = NumberIn(*end, "line");
    range.end_column = NumberIn(*end, "column");
  }
  findings.Add({.file = TextIn(*at, "path"),
                .range = range,
                .severity = SeverityOf(TextIn(diagnostic, "severity")),
                .rule = TextIn(diagnostic, "category"),
                .message = TextIn(diagnostic, "message"),
                .fix = FixOf(diagnostic)});
  return {};
}

Result<FindingReport> Read(const ParserInput& input) {
  POLYBOX_ASSIGN_OR_RETURN(const json::Value document, ReadDocument(ReportText(input), kWhat));
  POLYBOX_ASSIGN_OR_RETURN(const json::Object* report, AsObject(document, kWhat));
  POLYBOX_ASSIGN_OR_RETURN(const json::Array* rows, NeedArray(*report, "diagnostics", kWhat));
  POLYBOX_ASSIGN_OR_RETURN(const json::Object* summary, NeedObject(*report, "summary", kWhat));
  FindingCollector findings(input.root);
  for (const json::Value& row : *rows) {
    POLYBOX_ASSIGN_OR_RETURN(const json::Object* diagnostic, AsObject(row, kWhat));
    POLYBOX_RETURN_IF_ERROR(Add(*diagnostic, findings));
  }
  // Biome shows 20 diagnostics unless --max-diagnostics says more.
  if (const std::int64_t hidden = NumberIn(*summary, "diagnosticsNotPrinted"); hidden > 0) {
    findings.Omit(hidden);
  }
  return findings.Take();
}

}  // namespace

Report ParseBiomeJson(const ParserInput& input) {
  return ToReport(Read(input));
}

}  // namespace polybox::verify
