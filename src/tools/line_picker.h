// Picks a range of lines from a file that arrives in parts, and counts all lines. Holds the picked
// text and never the file. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tools/budget.h"

namespace polybox::tools {

/// What a picker has found.
struct PickedLines {
  /// The lines, each with "\n" at the end; a "\r" before it is dropped.
  std::string text;
  /// The number of lines in `text`.
  std::int64_t count = 0;
  /// The number of lines of the whole file.
  std::int64_t total = 0;
  /// Bytes that are missing at the end of the last line because they exceed the budget.
  std::size_t cut_bytes = 0;
  /// A line up to the end of the range has more than LinePicker::kLongestLine bytes.
  bool too_long = false;
  /// The budget has ended the range.
  bool over_budget = false;
};

class LinePicker {
 public:
  /// The longest line in bytes. A file with a longer line is generated data. The tools that read
  /// files by lines refuse such a file, because one line would fill the answer.
  static constexpr std::size_t kLongestLine = 1U << 20U;

  /// Picks `limit` lines from line `first` (from 1) on. The budget counts the line numbers too.
  LinePicker(std::int64_t first, std::int64_t limit, Budget budget)
      : first_(first), limit_(limit), budget_(budget) {}

  void Feed(std::string_view part);
  /// Ends the last line. May be called once.
  PickedLines Finish();

 private:
  bool InRange() const { return line_ >= first_ && line_ - first_ < limit_; }
  void AddToLine(std::string_view part);
  void EndLine();

  const std::int64_t first_;
  const std::int64_t limit_;
  Budget budget_;
  PickedLines picked_;
  /// The number of the present line, and its length so far.
  std::int64_t line_ = 1;
  std::size_t length_ = 0;
  /// The present line, if it is in the range.
  std::string current_;
};

}  // namespace polybox::tools
