// golangci-lint's JSON of versions 1 and 2: one object. A linter that could not run is a warning in
// `Report`; a package that does not compile is an issue of the linter "typecheck".
#include <optional>
#include <string>
#include <string_view>

#include "verify/collect.h"
#include "verify/json_text.h"
#include "verify/parsers/all.h"
#include "verify/parsers/compiler_lines.h"
#include "verify/parsers/to_report.h"
#include "verify/text.h"

namespace polybox::verify {
namespace {

constexpr std::string_view kWhat = "golangci-lint's JSON";

/// A package that does not compile is an issue at the first line of a file. Its text has the lines
/// of the compiler, of which the first is taken.
std::optional<CompilerLine> CompilerLineIn(const json::Object& issue) {
  if (TextIn(issue, "FromLinter") != "typecheck") return std::nullopt;
  std::string_view text = TextIn(issue, "Text");
  std::string_view line;
  while (TakeLine(text, line)) {
    if (const auto parts = ReadCompilerLine(line)) return parts;
  }
  return std::nullopt;
}

Status Add(const json::Object& issue, FindingCollector& findings) {
  POLYBOX_ASSIGN_OR_RETURN(const json::Object* place, NeedObject(issue, "Pos", kWhat));
  if (const auto parts = CompilerLineIn(issue)) {
    findings.Add({.file = parts->file,
                  .range = {.line = parts->line, .column = parts->column},
                  .rule = "typecheck",
                  .message = parts->message});
    return {};
  }
  const std::string_view severity = TextIn(issue, "Severity");
  std::string fix;
  if (const json::Array* fixes = ArrayIn(issue, "SuggestedFixes");
      fixes != nullptr && !fixes->empty() && fixes->front().is_object()) {
    fix = TextIn(fixes->front().get_object(), "Message");
  }
  const json::Object* lines = ObjectIn(issue, "LineRange");
  findings.Add({.file = TextIn(*place, "Filename"),
                .range = {.line = NumberIn(*place, "Line"),
                          .column = NumberIn(*place, "Column"),
                          .end_line = lines != nullptr ? NumberIn(*lines, "To") : 0},
                .severity = severity.empty() ? Severity::kError : SeverityOf(severity),
                .rule = TextIn(issue, "FromLinter"),
                .message = TextIn(issue, "Text"),
                .fix = fix});
  return {};
}

Result<FindingReport> Read(const ParserInput& input) {
  POLYBOX_ASSIGN_OR_RETURN(const json::Value document, ReadDocument(ReportText(input), kWhat));
  POLYBOX_ASSIGN_OR_RETURN(const json::Object* report, AsObject(document, kWhat));
  // Version 1 writes null where there are no issues.
  const json::Value* issues = report->if_contains("Issues");
  if (issues == nullptr) return NotThis(kWhat, "`Issues` is missing");
  FindingCollector findings(input.root);
  if (issues->is_null()) return findings.Take();
  POLYBOX_ASSIGN_OR_RETURN(const json::Array* rows, AsArray(*issues, kWhat));
  for (const json::Value& row : *rows) {
    POLYBOX_ASSIGN_OR_RETURN(const json::Object* issue, AsObject(row, kWhat));
    POLYBOX_RETURN_IF_ERROR(Add(*issue, findings));
  }
  return findings.Take();
}

}  // namespace

Report ParseGolangciJson(const ParserInput& input) {
  return ToReport(Read(input));
}

}  // namespace polybox::verify
