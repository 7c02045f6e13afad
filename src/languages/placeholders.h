// The {placeholders} of language files. A file that uses one that does not exist is refused when it
// is loaded; whoever runs a command fills in the ones that have a meaning there.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace polybox::languages {

/// Name (without braces) to value.
using Placeholders = std::map<std::string, std::string, std::less<>>;

/// The first {word} in `text` that is not a placeholder we know; nothing when all are.
std::optional<std::string> UnknownPlaceholder(std::string_view text);

/// Replaces the placeholders that `values` has and leaves the others as they are.
std::string Expand(std::string_view text, const Placeholders& values);
std::vector<std::string> Expand(const std::vector<std::string>& texts, const Placeholders& values);

/// All names, for messages.
std::vector<std::string_view> PlaceholderNames();

}  // namespace polybox::languages
