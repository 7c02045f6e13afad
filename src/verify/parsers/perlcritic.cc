// perlcritic with the format '%f\t%l\t%c\t%s\t%p\t%m\n': file, line, column, severity (5 is the
// worst), policy and message, with tabs between them.
#include <array>

#include <fmt/format.h>

#include "verify/collect.h"
#include "verify/parsers/all.h"
#include "verify/parsers/to_report.h"
#include "verify/text.h"

namespace polybox::verify {
namespace {

constexpr std::string_view kWhat = "the lines of perlcritic";
/// Severities from this one on are faults; those below are matters of taste.
constexpr std::int64_t kFault = 4;

Result<FindingReport> Read(const ParserInput& input) {
  if (!EndsInLine(input.out)) return NotThis(kWhat, "the output ends within a line");
  FindingCollector findings(input.root);
  std::string_view rest = input.out;
  std::string_view line;
  while (TakeLine(rest, line)) {
    if (line.empty()) continue;
    std::string_view message = line;
    std::array<std::string_view, 5> columns;
    for (std::string_view& column : columns) column = TakeUntil(message, "\t").value_or("");
    const auto [file, row, column, severity, policy] = columns;
    if (!Number(row) || !Number(severity)) {
      return NotThis(kWhat, fmt::format("the line \"{}\"", Kept(line, 200)));
    }
    findings.Add({.file = file,
                  .range = {.line = *Number(row), .column = NumberOr0(column)},
                  .severity = *Number(severity) >= kFault ? Severity::kError : Severity::kWarning,
                  .rule = policy,
                  .message = message});
  }
  return findings.Take();
}

}  // namespace

Report ParsePerlcritic(const ParserInput& input) {
  return ToReport(Read(input));
}

}  // namespace polybox::verify
