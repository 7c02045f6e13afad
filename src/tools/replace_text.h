// The text replacement of Edit, on strings. Any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace polybox::tools {

enum class Occurrences { kOne, kAll };

struct Replacement {
  std::string_view old_string;
  std::string_view new_string;
  Occurrences occurrences = Occurrences::kOne;
};

/// Replaces in `content` and returns how many times. A "\n" of `old_string` also fits "\r\n", and
/// new lines get the line ends of their surroundings. `shown` names the file in errors: "old_string
/// not found in X", "old_string matched N times in X; ...".
Result<std::size_t> ReplaceIn(std::string& content, const Replacement& replacement,
                              std::string_view shown);

}  // namespace polybox::tools
