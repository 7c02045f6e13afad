// `shellcheck --format=json1`, and the older `--format=json`, which is the list alone.
#include <string>

#include "verify/collect.h"
#include "verify/json_text.h"
#include "verify/parsers/all.h"
#include "verify/parsers/to_report.h"
#include "verify/text.h"

namespace polybox::verify {
namespace {

constexpr std::string_view kWhat = "ShellCheck's JSON";

Result<FindingReport> Read(const ParserInput& input) {
  POLYBOX_ASSIGN_OR_RETURN(const json::Value document, ReadDocument(ReportText(input), kWhat));
  const json::Array* comments = document.if_array();
  if (comments == nullptr) {
    POLYBOX_ASSIGN_OR_RETURN(const json::Object* report, AsObject(document, kWhat));
    POLYBOX_ASSIGN_OR_RETURN(comments, NeedArray(*report, "comments", kWhat));
  }
  FindingCollector findings(input.root);
  for (const json::Value& row : *comments) {
    POLYBOX_ASSIGN_OR_RETURN(const json::Object* comment, AsObject(row, kWhat));
    POLYBOX_ASSIGN_OR_RETURN(const std::int64_t code, NeedNumber(*comment, "code", kWhat));
    findings.Add({.file = TextIn(*comment, "file"),
                  .range = {NumberIn(*comment, "line"), NumberIn(*comment, "column"),
                            NumberIn(*comment, "endLine"), NumberIn(*comment, "endColumn")},
                  .severity = SeverityOf(TextIn(*comment, "level")),
                  .rule = "SC" + std::to_string(code),
                  .message = TextIn(*comment, "message")});
  }
  return findings.Take();
}

}  // namespace

Report ParseShellcheckJson(const ParserInput& input) {
  return ToReport(Read(input));
}

}  // namespace polybox::verify
