// Builds coverage reports. Several entries for a line are merged. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "verify/report.h"

namespace polybox::verify {

class CoverageCollector {
 public:
  /// `root` is that of the ParserInput; it must outlive the collector.
  explicit CoverageCollector(std::string_view root) : root_(root) {}

  /// The lines of a file by number, with their hits.
  using Lines = std::map<std::int64_t, std::int64_t>;

  /// Returns the lines of the file, to which hits can be added. Valid until the collector ends.
  Lines& File(std::string_view file);
  /// Sets the hits of a line to the larger of the present and the new number. Lines below 1 are
  /// ignored.
  static void Hit(Lines& lines, std::int64_t line, std::int64_t hits);

  CoverageReport Take() const;

 private:
  std::string_view root_;
  std::map<std::string, Lines> files_;
};

}  // namespace polybox::verify
