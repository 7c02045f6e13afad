// Suggestions for typing errors in names, for error messages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace polybox {

/// Returns how many insertions, deletions or replacements of one character, or swaps of neighbours,
/// turn `a` into `b`.
std::size_t EditDistance(std::string_view a, std::string_view b);

/// Returns the candidate nearest to `name`, or "" when no candidate is so near that it was probably
/// meant.
std::string_view NearestName(std::string_view name,
                             const std::vector<std::string_view>& candidates);

/// Returns `; did you mean "x"?`, or "" when no candidate is near.
std::string DidYouMean(std::string_view name, const std::vector<std::string_view>& candidates);

}  // namespace polybox
