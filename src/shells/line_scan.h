// Reads the lines of a stored output in order, with their numbers, also behind a gap. Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "shells/output_log.h"

namespace polybox::shells {

struct ScannedLine {
  /// From 1.
  std::int64_t number = 0;
  /// The offset of the first byte.
  std::uint64_t offset = 0;
  /// Without the line feed; of a long line only the first part. Valid during the call.
  std::string_view text;
  /// The length of the whole line.
  std::uint64_t size = 0;
};

/// Calls `take` for each line of what is stored now, until it returns false.
void ScanLines(const OutputLog& log, const std::function<bool(const ScannedLine&)>& take);

/// Returns the number of the last line.
std::int64_t LineCount(const OutputLog& log);

}  // namespace polybox::shells
