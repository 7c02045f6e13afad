// Differences of two texts in the form of `git diff`. Nothing is executed, and attributes have no
// effect. Pure functions, any thread.
#pragma once

#include <string>
#include <string_view>

#include "snapshots/file_map.h"

namespace polybox::snapshots {

/// Returns a path as git shows it after "a/": in quotes if it has control characters, quotes,
/// backslashes or bytes that are not UTF-8.
std::string QuotedPath(std::string_view prefix, std::string_view path);

/// Returns the lines before the first "@@" of a change.
std::string DiffHeader(const Change& change);

/// Returns the hunks with three lines of context; "" if the texts are equal. Two very different
/// texts become one hunk.
std::string Hunks(std::string_view before, std::string_view after);

/// Returns whether the content has a zero byte near its start, which is git's rule.
bool IsBinary(std::string_view content);

}  // namespace polybox::snapshots
