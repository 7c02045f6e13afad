// `phpstan analyse --error-format=json`. `files` is an object by path, or an empty list.
#include "verify/collect.h"
#include "verify/json_text.h"
#include "verify/parsers/all.h"
#include "verify/parsers/to_report.h"

namespace polybox::verify {
namespace {

constexpr std::string_view kWhat = "PHPStan's JSON";

Status AddMessages(std::string_view path, const json::Value& file, FindingCollector& findings) {
  POLYBOX_ASSIGN_OR_RETURN(const json::Object* object, AsObject(file, kWhat));
  POLYBOX_ASSIGN_OR_RETURN(const json::Array* messages, NeedArray(*object, "messages", kWhat));
  for (const json::Value& row : *messages) {
    POLYBOX_ASSIGN_OR_RETURN(const json::Object* message, AsObject(row, kWhat));
    findings.Add({.file = path,
                  .range = {.line = NumberIn(*message, "line")},
                  .rule = TextIn(*message, "identifier"),
                  .message = TextIn(*message, "message"),
                  .fix = TextIn(*message, "tip")});
  }
  return {};
}

Result<FindingReport> Read(const ParserInput& input) {
  POLYBOX_ASSIGN_OR_RETURN(const json::Value document, ReadDocument(ReportText(input), kWhat));
  POLYBOX_ASSIGN_OR_RETURN(const json::Object* report, AsObject(document, kWhat));
  POLYBOX_ASSIGN_OR_RETURN(const json::Object* totals, NeedObject(*report, "totals", kWhat));
  FindingCollector findings(input.root);
  if (const json::Object* files = ObjectIn(*report, "files")) {
    for (const auto& [path, file] : *files) {
      POLYBOX_RETURN_IF_ERROR(AddMessages(path, file, findings));
    }
  }
  POLYBOX_ASSIGN_OR_RETURN(const json::Array* errors, NeedArray(*report, "errors", kWhat));
  for (const json::Value& error : *errors) {
    if (error.is_string()) findings.Add({.file = "", .message = error.get_string()});
  }
  if (NumberIn(*totals, "errors") + NumberIn(*totals, "file_errors") != findings.count()) {
    return NotThis(kWhat, "it counts other findings than it shows");
  }
  return findings.Take();
}

}  // namespace

Report ParsePhpstanJson(const ParserInput& input) {
  return ToReport(Read(input));
}

}  // namespace polybox::verify
