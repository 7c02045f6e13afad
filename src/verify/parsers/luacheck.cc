// `luacheck --formatter plain --codes`: "file:1:7: (W211) message". W is a warning, E an error.
#include <fmt/format.h>

#include "verify/collect.h"
#include "verify/parsers/all.h"
#include "verify/parsers/compiler_lines.h"
#include "verify/parsers/to_report.h"
#include "verify/text.h"

namespace polybox::verify {
namespace {

constexpr std::string_view kWhat = "the text of luacheck";

Result<FindingReport> Read(const ParserInput& input) {
  if (!EndsInLine(input.out)) return NotThis(kWhat, "the output ends within a line");
  FindingCollector findings(input.root);
  std::string_view rest = input.out;
  std::string_view line;
  while (TakeLine(rest, line)) {
    if (line.empty()) continue;
    const auto parts = ReadCompilerLine(line);
    std::string_view message = parts ? parts->message : std::string_view();
    const bool has_code = message.starts_with('(');
    message.remove_prefix(has_code ? 1 : 0);
    const auto code = has_code ? TakeUntil(message, ") ") : std::nullopt;
    if (!code || code->empty()) {
      return NotThis(kWhat, fmt::format("the line \"{}\"", Kept(line, 200)));
    }
    findings.Add({.file = parts->file,
                  .range = {.line = parts->line, .column = parts->column},
                  .severity = code->front() == 'E' ? Severity::kError : Severity::kWarning,
                  .rule = *code,
                  .message = message});
  }
  return findings.Take();
}

}  // namespace

Report ParseLuacheck(const ParserInput& input) {
  return ToReport(Read(input));
}

}  // namespace polybox::verify
