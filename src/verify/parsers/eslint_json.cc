// `eslint --format=json`, also written by other linters of JavaScript.
#include "verify/collect.h"
#include "verify/json_text.h"
#include "verify/parsers/all.h"
#include "verify/parsers/to_report.h"

namespace polybox::verify {
namespace {

constexpr std::string_view kWhat = "eslint's JSON";
/// The severity of a warning; 2 is an error.
constexpr std::int64_t kWarning = 1;

/// Returns what eslint proposes: the text of the first suggestion, or the new text.
std::string_view FixOf(const json::Object& message) {
  const json::Array* suggestions = ArrayIn(message, "suggestions");
  if (suggestions != nullptr && !suggestions->empty() && suggestions->front().is_object()) {
    return TextIn(suggestions->front().get_object(), "desc");
  }
  const json::Object* fix = ObjectIn(message, "fix");
  return fix != nullptr ? TextIn(*fix, "text") : std::string_view();
}

Status AddMessages(const json::Object& file, FindingCollector& findings) {
  POLYBOX_ASSIGN_OR_RETURN(const json::Array* messages, NeedArray(file, "messages", kWhat));
  for (const json::Value& row : *messages) {
    POLYBOX_ASSIGN_OR_RETURN(const json::Object* message, AsObject(row, kWhat));
    const std::string_view rule = TextIn(*message, "ruleId");
    findings.Add({.file = TextIn(file, "filePath"),
                  .range = {.line = NumberIn(*message, "line"),
                            .column = NumberIn(*message, "column"),
                            .end_line = NumberIn(*message, "endLine"),
                            .end_column = NumberIn(*message, "endColumn")},
                  .severity = NumberIn(*message, "severity") == kWarning ? Severity::kWarning
                                                                         : Severity::kError,
                  .rule = rule.empty() && TrueIn(*message, "fatal") ? "parsing-error" : rule,
                  .message = TextIn(*message, "message"),
                  .fix = FixOf(*message)});
  }
  return {};
}

Result<FindingReport> Read(const ParserInput& input) {
  POLYBOX_ASSIGN_OR_RETURN(const json::Value document, ReadDocument(ReportText(input), kWhat));
  POLYBOX_ASSIGN_OR_RETURN(const json::Array* files, AsArray(document, kWhat));
  FindingCollector findings(input.root);
  for (const json::Value& row : *files) {
    POLYBOX_ASSIGN_OR_RETURN(const json::Object* file, AsObject(row, kWhat));
    POLYBOX_RETURN_IF_ERROR(AddMessages(*file, findings));
  }
  return findings.Take();
}

}  // namespace

Report ParseEslintJson(const ParserInput& input) {
  return ToReport(Read(input));
}

}  // namespace polybox::verify
