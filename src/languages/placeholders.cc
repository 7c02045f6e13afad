#include "languages/placeholders.h"

#include <algorithm>
#include <array>

namespace polybox::languages {
namespace {

// The names of all placeholders; languages/README.md explains each.
constexpr std::array<std::string_view, 27> kNames = {
    "binary",     "executable", "root",     "version_number", "entry",        "entry_stem",
    "work",       "tmp",        "packages", "target",         "requirements", "index",
    "file",       "warm",       "prepared", "preinstalled",   "usual_entry",  "memory_mib",
    "proxy_host", "proxy_port", "report",   "filter",         "pattern",      "top_pattern",
    "names",      "suites",     "ids",
};

struct Match {
  std::size_t begin = std::string_view::npos;
  std::string_view name;
};

bool IsNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || c == '_';
}

/// Finds the next {word}. Braces around anything else are ordinary text.
Match FindNext(std::string_view text, std::size_t from) {
  for (std::size_t open = text.find('{', from); open != std::string_view::npos;
       open = text.find('{', open + 1)) {
    std::size_t end = open + 1;
    while (end < text.size() && IsNameCharacter(text[end])) ++end;
    if (end > open + 1 && end < text.size() && text[end] == '}') {
      return {open, text.substr(open + 1, end - open - 1)};
    }
  }
  return {};
}

}  // namespace

std::vector<std::string_view> PlaceholderNames() {
  return {kNames.begin(), kNames.end()};
}

std::optional<std::string> UnknownPlaceholder(std::string_view text) {
  for (Match match = FindNext(text, 0); match.begin != std::string_view::npos;
       match = FindNext(text, match.begin + 1)) {
    if (std::find(kNames.begin(), kNames.end(), match.name) == kNames.end()) {
      return std::string(match.name);
    }
  }
  return std::nullopt;
}

std::string Expand(std::string_view text, const Placeholders& values) {
  std::string out;
  std::size_t at = 0;
  for (Match match = FindNext(text, 0); match.begin != std::string_view::npos;
       match = FindNext(text, match.begin + 1)) {
    const auto value = values.find(match.name);
    if (value == values.end()) continue;
    out += text.substr(at, match.begin - at);
    out += value->second;
    at = match.begin + match.name.size() + 2;
  }
  out += text.substr(at);
  return out;
}

std::vector<std::string> Expand(const std::vector<std::string>& texts, const Placeholders& values) {
  std::vector<std::string> out;
  out.reserve(texts.size());
  for (const std::string& text : texts) out.push_back(Expand(text, values));
  return out;
}

}  // namespace polybox::languages
