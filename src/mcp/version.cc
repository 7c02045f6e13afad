#include "mcp/version.h"

#include <algorithm>
#include <array>
#include <utility>

namespace polybox::mcp {
namespace {

constexpr std::array<std::pair<Version, std::string_view>, 5> kNames = {
    std::pair{Version::k2026_07_28, "2026-07-28"}, {Version::k2025_11_25, "2025-11-25"},
    {Version::k2025_06_18, "2025-06-18"},          {Version::k2025_03_26, "2025-03-26"},
    {Version::k2024_11_05, "2024-11-05"},
};

}  // namespace

std::string_view NameOf(Version version) {
  return std::ranges::find(kNames, version, &std::pair<Version, std::string_view>::first)->second;
}

std::optional<Version> VersionNamed(std::string_view name) {
  const auto* found =
      std::ranges::find(kNames, name, &std::pair<Version, std::string_view>::second);
  return found == kNames.end() ? std::nullopt : std::optional(found->first);
}

std::vector<std::string_view> VersionNames() {
  std::vector<std::string_view> names;
  for (const auto& [version, name] : kNames) names.push_back(name);
  return names;
}

}  // namespace polybox::mcp
