#include "verify/coverage.h"

#include <algorithm>
#include <utility>

#include "verify/text.h"

namespace polybox::verify {

CoverageCollector::Lines& CoverageCollector::File(std::string_view file) {
  return files_[RelativePath(file, root_)];
}

void CoverageCollector::Hit(Lines& lines, std::int64_t line, std::int64_t hits) {
  if (line < 1) return;
  std::int64_t& present = lines[line];
  present = std::max(present, hits);
}

CoverageReport CoverageCollector::Take() const {
  CoverageReport report;
  for (const auto& [file, lines] : files_) {
    CoveredFile covered{.file = file};
    covered.lines.reserve(lines.size());
    for (const auto& [line, hits] : lines) covered.lines.push_back({line, hits});
    report.files.push_back(std::move(covered));
  }
  return report;
}

}  // namespace polybox::verify
