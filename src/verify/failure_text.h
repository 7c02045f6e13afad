// Finds what runners write only as text into a failure: the place in the sources, and the two
// values of a failed comparison. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace polybox::verify {

struct Location {
  std::string file = {};
  /// 0: the text names no place.
  std::int64_t line = 0;
};

/// Returns the place that a message or a stack trace names. If `file` is given, only places in that
/// file count; otherwise the first one that looks like a file of the project at `root`.
Location FindLocation(std::string_view text, std::string_view root, std::string_view file);

struct Comparison {
  std::string expected = {};
  std::string actual = {};

  bool is_complete() const { return !expected.empty() && !actual.empty(); }
};

/// Returns the values that the text calls expected and actual in one of the known forms; both "" if
/// it has none of these forms.
Comparison FindComparison(std::string_view text);

}  // namespace polybox::verify
