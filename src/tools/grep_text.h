// Finds the lines of one text that a pattern matches, and the lines around them. Any thread.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tools/grep_pattern.h"

namespace polybox::tools {

/// One line of a text.
struct TextLine {
  /// From 1.
  std::int64_t number = 0;
  std::string_view text = {};
  bool is_match = false;
};

struct LineMatches {
  /// The lines that are part of a match, in order; no more than were asked for.
  std::vector<TextLine> lines;
  /// The number of all such lines.
  std::int64_t total = 0;
};

/// Returns the matching lines of `text`, which has no "\r" before "\n". At most `most` lines are
/// returned; the others are counted. The lines refer to `text`.
LineMatches FindLines(std::string_view text, const GrepPattern& pattern, std::size_t most);

/// How many lines around a match are shown.
struct Around {
  std::int64_t before = 0;
  std::int64_t after = 0;
};

/// Returns the matching lines with the lines around them, each once. `matches` are lines of `text`.
std::vector<TextLine> WithContext(std::string_view text, const std::vector<TextLine>& matches,
                                  const Around& around);

}  // namespace polybox::tools
