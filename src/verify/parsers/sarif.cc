// SARIF 2.1, which many analysers write. A result of the kind "pass" or one that is suppressed is
// no finding. An invocation that failed makes the report unreadable: its list is not complete.
#include <string>

#include "verify/collect.h"
#include "verify/json_text.h"
#include "verify/parsers/all.h"
#include "verify/parsers/to_report.h"
#include "verify/text.h"

namespace polybox::verify {
namespace {

constexpr std::string_view kWhat = "SARIF";

/// Returns the first object of the list `name`; an empty object if there is none.
const json::Object& FirstIn(const json::Object& object, std::string_view name) {
  static const json::Object empty;
  const json::Array* list = ArrayIn(object, name);
  if (list == nullptr || list->empty() || !list->front().is_object()) return empty;
  return list->front().get_object();
}

const json::Object& In(const json::Object& object, std::string_view name) {
  static const json::Object empty;
  const json::Object* found = ObjectIn(object, name);
  return found != nullptr ? *found : empty;
}

void Add(const json::Object& result, FindingCollector& findings) {
  const json::Object& place = In(FirstIn(result, "locations"), "physicalLocation");
  const json::Object& region = In(place, "region");
  const std::string_view level = TextIn(result, "level");
  const std::string_view rule = TextIn(result, "ruleId");
  findings.Add({.file = TextIn(In(place, "artifactLocation"), "uri"),
                .range = {NumberIn(region, "startLine"), NumberIn(region, "startColumn"),
                          NumberIn(region, "endLine"), NumberIn(region, "endColumn")},
                .severity = level.empty() ? Severity::kWarning : SeverityOf(level),
                .rule = rule.empty() ? TextIn(In(result, "rule"), "id") : rule,
                .message = TextIn(In(result, "message"), "text"),
                .fix = TextIn(In(FirstIn(result, "fixes"), "description"), "text")});
}

bool IsFinding(const json::Object& result) {
  const std::string_view kind = TextIn(result, "kind");
  const json::Array* suppressions = ArrayIn(result, "suppressions");
  return (kind.empty() || kind == "fail" || kind == "open" || kind == "review") &&
         (suppressions == nullptr || suppressions->empty());
}

Status AddRun(const json::Object& run, FindingCollector& findings) {
  for (const json::Value& row : ItemsIn(run, "invocations")) {
    const json::Object* invocation = row.if_object();
    if (invocation != nullptr && invocation->contains("executionSuccessful") &&
        !TrueIn(*invocation, "executionSuccessful")) {
      return NotThis(kWhat, "the tool says that it could not finish");
    }
  }
  // A run without the list did not look for anything.
  POLYBOX_ASSIGN_OR_RETURN(const json::Array* results, NeedArray(run, "results", kWhat));
  for (const json::Value& row : *results) {
    POLYBOX_ASSIGN_OR_RETURN(const json::Object* result, AsObject(row, kWhat));
    if (IsFinding(*result)) Add(*result, findings);
  }
  return {};
}

Result<FindingReport> Read(const ParserInput& input) {
  POLYBOX_ASSIGN_OR_RETURN(const json::Value document, ReadDocument(ReportText(input), kWhat));
  POLYBOX_ASSIGN_OR_RETURN(const json::Object* report, AsObject(document, kWhat));
  POLYBOX_ASSIGN_OR_RETURN(const json::Array* runs, NeedArray(*report, "runs", kWhat));
  if (runs->empty()) return NotThis(kWhat, "it has no run");
  FindingCollector findings(input.root);
  for (const json::Value& row : *runs) {
    POLYBOX_ASSIGN_OR_RETURN(const json::Object* run, AsObject(row, kWhat));
    POLYBOX_RETURN_IF_ERROR(AddRun(*run, findings));
  }
  return findings.Take();
}

}  // namespace

Report ParseSarif(const ParserInput& input) {
  return ToReport(Read(input));
}

}  // namespace polybox::verify
