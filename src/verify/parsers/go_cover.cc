// A coverage profile of Go: a line "mode: set", then a block per line:
// "example.com/shop/cart/cart.go:3.30,5.27 2 1". The profile has no end; a line that was cut is
// noticed.
#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "verify/coverage.h"
#include "verify/parsers/all.h"
#include "verify/parsers/to_report.h"
#include "verify/text.h"

namespace polybox::verify {
namespace {

constexpr std::string_view kWhat = "a coverage profile of Go";
/// The longest block in lines. No function is longer; a number without limit would cost memory.
constexpr std::int64_t kLongestBlock = 100'000;

struct Block {
  std::string_view file = {};
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::int64_t hits = 0;
};

std::optional<Block> ReadBlock(std::string_view line) {
  const std::size_t colon = line.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  Block block{.file = line.substr(0, colon)};
  std::string_view rest = line.substr(colon + 1);
  const auto first = TakeUntil(rest, ".");
  const auto column = TakeUntil(rest, ",");
  const auto last = TakeUntil(rest, ".");
  const auto end_column = TakeUntil(rest, " ");
  const auto statements = TakeUntil(rest, " ");
  if (!first || !column || !last || !end_column || !statements) return std::nullopt;
  const auto hits = Number(rest);
  if (!Number(*first) || !Number(*last) || !Number(*statements) || !hits) return std::nullopt;
  block.first = *Number(*first);
  block.last = *Number(*last);
  // A block that ends at the beginning of a line has no code on it.
  if (*end_column == "1" && block.last > block.first) --block.last;
  block.hits = *hits;
  return block;
}

Result<CoverageReport> Read(const ParserInput& input) {
  std::string_view rest = ReportText(input);
  std::string_view line = {};
  if (!EndsInLine(rest)) return NotThis(kWhat, "it ends within a line");
  if (!TakeLine(rest, line) || !line.starts_with("mode: ")) {
    return NotThis(kWhat, "it does not begin with its mode");
  }
  CoverageCollector coverage(input.root);
  while (TakeLine(rest, line)) {
    if (line.empty() || line.starts_with("mode: ")) continue;
    const auto block = ReadBlock(line);
    if (!block || block->last < block->first || block->last - block->first > kLongestBlock) {
      return NotThis(kWhat, fmt::format("the line \"{}\"", Kept(line, 200)));
    }
    CoverageCollector::Lines& lines = coverage.File(WithinModule(block->file, input.module));
    for (std::int64_t at = block->first; at <= block->last; ++at) {
      CoverageCollector::Hit(lines, at, block->hits);
    }
  }
  return coverage.Take();
}

}  // namespace

Report ParseGoCover(const ParserInput& input) {
  return ToReport(Read(input));
}

}  // namespace polybox::verify
