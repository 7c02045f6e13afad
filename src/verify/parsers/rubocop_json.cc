// `rubocop --format json`.
#include "verify/collect.h"
#include "verify/json_text.h"
#include "verify/parsers/all.h"
#include "verify/parsers/to_report.h"
#include "verify/text.h"

namespace polybox::verify {
namespace {

constexpr std::string_view kWhat = "RuboCop's JSON";

Status AddOffenses(const json::Object& file, FindingCollector& findings) {
  POLYBOX_ASSIGN_OR_RETURN(const json::Array* offenses, NeedArray(file, "offenses", kWhat));
  for (const json::Value& row : *offenses) {
    POLYBOX_ASSIGN_OR_RETURN(const json::Object* offense, AsObject(row, kWhat));
    POLYBOX_ASSIGN_OR_RETURN(const json::Object* at, NeedObject(*offense, "location", kWhat));
    findings.Add({.file = TextIn(file, "path"),
                  .range = {NumberIn(*at, "start_line"), NumberIn(*at, "start_column"),
                            NumberIn(*at, "last_line"), NumberIn(*at, "last_column")},
                  .severity = SeverityOf(TextIn(*offense, "severity")),
                  .rule = TextIn(*offense, "cop_name"),
                  .message = TextIn(*offense, "message"),
                  .fix = TrueIn(*offense, "correctable") ? "rubocop --autocorrect" : ""});
  }
  return {};
}

Result<FindingReport> Read(const ParserInput& input) {
  POLYBOX_ASSIGN_OR_RETURN(const json::Value document, ReadDocument(ReportText(input), kWhat));
  POLYBOX_ASSIGN_OR_RETURN(const json::Object* report, AsObject(document, kWhat));
  POLYBOX_ASSIGN_OR_RETURN(const json::Array* files, NeedArray(*report, "files", kWhat));
  FindingCollector findings(input.root);
  for (const json::Value& row : *files) {
    POLYBOX_ASSIGN_OR_RETURN(const json::Object* file, AsObject(row, kWhat));
    POLYBOX_RETURN_IF_ERROR(AddOffenses(*file, findings));
  }
  return findings.Take();
}

}  // namespace

Report ParseRubocopJson(const ParserInput& input) {
  return ToReport(Read(input));
}

}  // namespace polybox::verify
