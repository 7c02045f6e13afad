// The text of `tsc`, with and without --pretty. The list has no end; its lines do.
#include <string>

#include "verify/collect.h"
#include "verify/parsers/all.h"
#include "verify/parsers/to_report.h"
#include "verify/text.h"

namespace polybox::verify {
namespace {

constexpr std::string_view kWhat = "the text of tsc";

/// Takes "TS2322: message" behind a severity. Returns false if the text is not of this form.
bool TakeMessage(std::string_view rest, RawFinding& finding) {
  for (const std::string_view severity : {"error ", "warning ", "message "}) {
    if (!rest.starts_with(severity)) continue;
    finding.severity = SeverityOf(Trim(severity));
    rest.remove_prefix(severity.size());
    const auto rule = TakeUntil(rest, ": ");
    if (!rule || !rule->starts_with("TS")) return false;
    finding.rule = *rule;
    finding.message = rest;
    return true;
  }
  return false;
}

/// Takes "12,5" or "12:5".
bool TakePlace(std::string_view place, std::string_view separator, Range& range) {
  const auto line = TakeUntil(place, separator);
  if (!line || !Number(*line) || !Number(place)) return false;
  range.line = *Number(*line);
  range.column = *Number(place);
  return true;
}

/// Reads "a.ts(2,3): error TS2322: message".
bool ReadPlain(std::string_view line, RawFinding& finding) {
  const std::size_t end = line.find("): ");
  const std::size_t begin = end == std::string_view::npos ? end : line.rfind('(', end);
  if (begin == std::string_view::npos) return false;
  finding.file = line.substr(0, begin);
  return TakePlace(line.substr(begin + 1, end - begin - 1), ",", finding.range) &&
         TakeMessage(line.substr(end + 3), finding);
}

/// Reads "a.ts:2:3 - error TS2322: message".
bool ReadPretty(std::string_view line, RawFinding& finding) {
  const auto place = TakeUntil(line, " - ");
  if (!place) return false;
  const std::size_t column = place->rfind(':');
  const std::size_t row = column == std::string_view::npos ? column : place->rfind(':', column - 1);
  if (row == std::string_view::npos || row == 0) return false;
  finding.file = place->substr(0, row);
  return TakePlace(place->substr(row + 1), ":", finding.range) && TakeMessage(line, finding);
}

Result<FindingReport> Read(const ParserInput& input) {
  if (!EndsInLine(input.out)) return NotThis(kWhat, "the output ends within a line");
  FindingCollector findings(input.root);
  const std::string plain = WithoutTerminal(input.out);
  std::string_view rest = plain;
  std::string_view line;
  bool pretty = false;
  while (TakeLine(rest, line)) {
    RawFinding finding;
    if (ReadPlain(line, finding)) {
      findings.Add(finding);
    } else if (finding = {}; ReadPretty(line, finding)) {
      pretty = true;
      findings.Add(finding);
    } else if (finding = {}; TakeMessage(line, finding)) {
      findings.Add(finding);
    } else if (line.starts_with("  ") && !pretty && !findings.empty()) {
      findings.Continue(line);
    }
  }
  return findings.Take();
}

}  // namespace

Report ParseTsc(const ParserInput& input) {
  return ToReport(Read(input));
}

}  // namespace polybox::verify
