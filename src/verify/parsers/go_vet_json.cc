// `go vet -json`: one object after the other, over several lines each, with lines "# package"
// between them in older versions. What does not compile is on standard error.
#include <string>

#include "verify/collect.h"
#include "verify/json_text.h"
#include "verify/parsers/all.h"
#include "verify/parsers/compiler_lines.h"
#include "verify/parsers/to_report.h"
#include "verify/text.h"

namespace polybox::verify {
namespace {

constexpr std::string_view kWhat = "the JSON of go vet";

/// Takes the next object: a line that begins with "{" up to the line "}". Lines before it that
/// begin with "#" are skipped. Returns "" at the end of the text.
Result<std::string_view> TakeObject(std::string_view& rest) {
  std::string_view line;
  while (true) {
    const std::string_view from = rest;
    if (!TakeLine(rest, line)) return std::string_view();
    if (line.empty() || line.starts_with('#')) continue;
    if (!line.starts_with('{')) return NotThis(kWhat, "a line that begins no object");
    while (!line.ends_with('}') || line.starts_with(' ') || line.starts_with('\t')) {
      if (!TakeLine(rest, line)) return NotThis(kWhat, "the last object has no end");
    }
    return from.substr(0, from.size() - rest.size());
  }
}

/// Adds what an analyzer found: a list of diagnostics, or an object with an error of the analyzer.
Status AddDiagnostics(std::string_view analyzer, const json::Value& found,
                      FindingCollector& findings) {
  if (const json::Object* error = found.if_object()) {
    findings.Add({.file = "", .rule = analyzer, .message = TextIn(*error, "error")});
    return {};
  }
  POLYBOX_ASSIGN_OR_RETURN(const json::Array* rows, AsArray(found, kWhat));
  for (const json::Value& row : *rows) {
    POLYBOX_ASSIGN_OR_RETURN(const json::Object* diagnostic, AsObject(row, kWhat));
    const std::string begin = std::string(TextIn(*diagnostic, "posn")) + ": x";
    const std::string end = std::string(TextIn(*diagnostic, "end")) + ": x";
    const auto first = ReadCompilerLine(begin).value_or(CompilerLine{});
    const auto last = ReadCompilerLine(end).value_or(CompilerLine{});
    findings.Add({.file = first.file,
                  .range = {first.line, first.column, last.line, last.column},
                  .rule = analyzer,
                  .message = TextIn(*diagnostic, "message")});
  }
  return {};
}

Status AddPackages(std::string_view text, FindingCollector& findings) {
  POLYBOX_ASSIGN_OR_RETURN(const json::Value document, ReadDocument(text, kWhat));
  POLYBOX_ASSIGN_OR_RETURN(const json::Object* packages, AsObject(document, kWhat));
  for (const auto& [package, analyzers] : *packages) {
    POLYBOX_ASSIGN_OR_RETURN(const json::Object* by_name, AsObject(analyzers, kWhat));
    for (const auto& [analyzer, found] : *by_name) {
      POLYBOX_RETURN_IF_ERROR(AddDiagnostics(analyzer, found, findings));
    }
  }
  return {};
}

/// Adds what the compiler said: "vet: x.go:3:23: message".
void AddCompilerErrors(std::string_view err, FindingCollector& findings) {
  std::string_view line;
  while (TakeLine(err, line)) {
    if (line.starts_with("vet: ")) line.remove_prefix(5);
    const auto parts = ReadCompilerLine(line);
    if (!parts) continue;
    findings.Add({.file = parts->file,
                  .range = {.line = parts->line, .column = parts->column},
                  .rule = "compile",
                  .message = parts->message});
  }
}

Result<FindingReport> Read(const ParserInput& input) {
  if (!EndsInLine(input.out)) return NotThis(kWhat, "the output ends within a line");
  FindingCollector findings(input.root);
  // Before Go 1.24 the JSON is on standard error.
  const bool has_json = input.out.find('{') != std::string_view::npos;
  std::string_view rest = has_json ? input.out : std::string_view();
  while (true) {
    POLYBOX_ASSIGN_OR_RETURN(const std::string_view object, TakeObject(rest));
    if (object.empty()) break;
    POLYBOX_RETURN_IF_ERROR(AddPackages(object, findings));
  }
  AddCompilerErrors(input.err, findings);
  if (!has_json && findings.empty()) return NotThis(kWhat, "it has no object");
  return findings.Take();
}

}  // namespace

Report ParseGoVetJson(const ParserInput& input) {
  return ToReport(Read(input));
}

}  // namespace polybox::verify
