// Any tool that writes "file:line:column: message" or "file:line: message", one finding per line,
// and nothing else that matters. A line of another form makes the output unreadable if there is no
// finding at all.
#include <fmt/format.h>

#include "verify/collect.h"
#include "verify/parsers/all.h"
#include "verify/parsers/compiler_lines.h"
#include "verify/parsers/to_report.h"
#include "verify/text.h"

namespace polybox::verify {
namespace {

constexpr std::string_view kWhat = "a list of file:line:column";

Result<FindingReport> Read(const ParserInput& input) {
  if (!EndsInLine(input.out)) return NotThis(kWhat, "the output ends within a line");
  FindingCollector findings(input.root);
  std::string_view rest = input.out;
  std::string_view line;
  std::string_view other;
  while (TakeLine(rest, line)) {
    const auto parts = ReadCompilerLine(line);
    if (!parts) {
      if (other.empty()) other = Trim(line);
      continue;
    }
    findings.Add(
        {.file = parts->file,
         .range = {.line = parts->line, .column = parts->column},
         .severity = parts->severity.empty() ? Severity::kError : SeverityOf(parts->severity),
         .rule = parts->rule,
         .message = parts->message});
  }
  if (findings.empty() && !other.empty()) {
    return NotThis(kWhat, fmt::format("the line \"{}\"", Kept(other, 200)));
  }
  return findings.Take();
}

}  // namespace

Report ParseFileLineCol(const ParserInput& input) {
  return ToReport(Read(input));
}

}  // namespace polybox::verify
