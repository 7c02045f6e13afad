// The trace files of lcov, which many tools write: records that begin with SF and end with
// end_of_record.
#include <fmt/format.h>

#include "verify/coverage.h"
#include "verify/parsers/all.h"
#include "verify/parsers/to_report.h"
#include "verify/text.h"

namespace polybox::verify {
namespace {

constexpr std::string_view kWhat = "an lcov trace";

Result<CoverageReport> Read(const ParserInput& input) {
  std::string_view rest = ReportText(input);
  if (!EndsInLine(rest)) return NotThis(kWhat, "it ends within a line");
  CoverageCollector coverage(input.root);
  CoverageCollector::Lines* lines = nullptr;
  bool saw_record = false;
  std::string_view line;
  while (TakeLine(rest, line)) {
    if (line.starts_with("SF:")) {
      if (lines != nullptr) return NotThis(kWhat, "a record has no end");
      lines = &coverage.File(line.substr(3));
      saw_record = true;
    } else if (line == "end_of_record") {
      lines = nullptr;
    } else if (line.starts_with("DA:")) {
      std::string_view numbers = line.substr(3);
      const auto number = TakeUntil(numbers, ",");
      // A checksum may follow. gcov writes negative numbers for counters that overflowed.
      const std::string_view text = numbers.substr(0, numbers.find(','));
      const auto hits = text.starts_with('-') ? std::optional<std::int64_t>(0) : Number(text);
      if (lines == nullptr || !number || !Number(*number) || !hits) {
        return NotThis(kWhat, fmt::format("the line \"{}\"", Kept(line, 200)));
      }
      CoverageCollector::Hit(*lines, *Number(*number), *hits);
    }
  }
  if (lines != nullptr) return NotThis(kWhat, "the last record has no end");
  if (!saw_record) return NotThis(kWhat, "it has no record");
  return coverage.Take();
}

}  // namespace

Report ParseLcov(const ParserInput& input) {
  return ToReport(Read(input));
}

}  // namespace polybox::verify
