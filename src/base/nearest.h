// Suggestions for typing errors.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace polybox {

/// How many single-character insertions, deletions, replacements or swaps of neighbours turn `a`
/// into `b`.
std::size_t EditDistance(std::string_view a, std::string_view b);

/// The candidate nearest to `name`, or "" when none is near enough to be what was meant.
std::string_view NearestName(std::string_view name,
                             const std::vector<std::string_view>& candidates);

/// `; did you mean "x"?`, or "" when nothing is near.
std::string DidYouMean(std::string_view name, const std::vector<std::string_view>& candidates);

}  // namespace polybox
