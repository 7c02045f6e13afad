// `ruff check --output-format=json`. A syntax error has the code null in old versions, and
// "invalid-syntax" in new ones.
#include "verify/collect.h"
#include "verify/json_text.h"
#include "verify/parsers/all.h"
#include "verify/parsers/to_report.h"

namespace polybox::verify {
namespace {

constexpr std::string_view kWhat = "ruff's JSON";

Result<FindingReport> Read(const ParserInput& input) {
  POLYBOX_ASSIGN_OR_RETURN(const json::Value document, ReadDocument(ReportText(input), kWhat));
  POLYBOX_ASSIGN_OR_RETURN(const json::Array* rows, AsArray(document, kWhat));
  FindingCollector findings(input.root);
  for (const json::Value& row : *rows) {
    POLYBOX_ASSIGN_OR_RETURN(const json::Object* finding, AsObject(row, kWhat));
    POLYBOX_ASSIGN_OR_RETURN(const json::Object* begin, NeedObject(*finding, "location", kWhat));
    const json::Object* end = ObjectIn(*finding, "end_location");
    const json::Object* fix = ObjectIn(*finding, "fix");
    const std::string_view code = TextIn(*finding, "code");
    findings.Add({.file = TextIn(*finding, "filename"),
                  .range = {.line = NumberIn(*begin, "row"),
                            .column = NumberIn(*begin, "column"),
                            .end_line = end != nullptr ? NumberIn(*end, "row") : 0,
                            .end_column = end != nullptr ? NumberIn(*end, "column") : 0},
                  .rule = code.empty() ? "invalid-syntax" : code,
                  .message = TextIn(*finding, "message"),
                  .fix = fix != nullptr ? TextIn(*fix, "message") : std::string_view()});
  }
  return findings.Take();
}

}  // namespace

Report ParseRuffJson(const ParserInput& input) {
  return ToReport(Read(input));
}

}  // namespace polybox::verify
