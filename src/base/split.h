// Splits text at a separator. Any thread.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace polybox {

/// Returns the parts of `text` between the separators. Empty parts are left out, so a separator at
/// the end does no harm.
inline std::vector<std::string> Split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(separator));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    if (!part.empty()) parts.emplace_back(part);
  }
  return parts;
}

}  // namespace polybox
