// The {placeholders} of language files. A file with an unknown placeholder is refused when it is
// loaded. The code that runs a command replaces the placeholders that have a meaning there. Any
// thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace polybox::languages {

/// Values by name (without braces).
using Placeholders = std::map<std::string, std::string, std::less<>>;

/// Returns the first {word} in `text` that is not a known placeholder; nothing if all are known.
std::optional<std::string> UnknownPlaceholder(std::string_view text);

/// Replaces the placeholders that `values` contains. Other placeholders stay as they are.
std::string Expand(std::string_view text, const Placeholders& values);
std::vector<std::string> Expand(const std::vector<std::string>& texts, const Placeholders& values);

/// Returns all names, for messages.
std::vector<std::string_view> PlaceholderNames();

}  // namespace polybox::languages
