#include "tools/registry.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/nearest.h"
#include "base/printable.h"

namespace polybox::tools {
namespace {

constexpr std::string_view kLower = "abcdefghijklmnopqrstuvwxyz0123456789_";
constexpr std::string_view kNameCharacters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.";
// MCP allows 128; some clients put their own prefix before the name and allow 64 in all.
constexpr std::size_t kLongestName = 48;

/// Returns whether the text is not empty and has no other characters.
bool ConsistsOf(std::string_view text, std::string_view characters) {
  return !text.empty() && text.find_first_not_of(characters) == std::string_view::npos;
}

/// Returns what is wrong with the row, or "".
std::string ComplaintAbout(const Row& row) {
  if (!ConsistsOf(row.name, kNameCharacters) || row.name.size() > kLongestName) {
    return fmt::format("the name must have 1 to {} letters, digits, \"_\", \"-\" or \".\"",
                       kLongestName);
  }
  if (row.title.empty() || row.description.empty()) return "a title and a description are needed";
  if (!ConsistsOf(row.group, kLower) || row.group == kAllGroups) {
    return "the group must be a word of a-z, 0-9 and _, and not \"all\"";
  }
  const Annotations& promised = row.annotations;
  if (promised.read_only && (promised.destructive || !promised.idempotent)) {
    return "a tool that only reads is not destructive, and it is idempotent";
  }
  return "";
}

/// The order of the tools in every list. Find() searches by it.
bool Before(const Tool& left, const Tool& right) {
  return left.row.name < right.row.name;
}

}  // namespace

/// A registry with a wrong row is refused at the start, so no client sees it.
Result<Registry> Registry::Make(std::vector<Tool> tools) {
  for (const Tool& tool : tools) {
    const std::string complaint = ComplaintAbout(tool.row);
    if (!complaint.empty()) {
      return Error(ErrorKind::kInvalid, fmt::format("tool {}: {}", tool.row.name, complaint));
    }
  }
  std::ranges::sort(tools, Before);
  const auto twice =
      std::ranges::adjacent_find(tools, {}, [](const Tool& tool) { return tool.row.name; });
  if (twice != tools.end()) {
    return Error(ErrorKind::kInvalid, fmt::format("two tools have the name {}", twice->row.name));
  }
  return Registry(std::move(tools));
}

Result<Registry> Registry::Select(const std::vector<std::string>& groups) const {
  const std::vector<std::string> known = Groups();
  const std::set<std::string> wanted(groups.begin(), groups.end());
  for (const std::string& group : wanted) {
    if (group == kAllGroups || std::ranges::count(known, group) != 0) continue;
    return Error(
        ErrorKind::kInvalid,
        fmt::format("unknown group of tools \"{}\": expected {} or {}{}", Printable(group, 80),
                    kAllGroups, fmt::join(known, ", "),
                    DidYouMean(group, std::vector<std::string_view>(known.begin(), known.end()))));
  }
  if (wanted.contains(std::string(kAllGroups))) return *this;
  std::vector<Tool> chosen;
  std::ranges::copy_if(tools_, std::back_inserter(chosen),
                       [&](const Tool& tool) { return wanted.contains(tool.row.group); });
  return Registry(std::move(chosen));
}

Registry Registry::ReadOnly() const {
  std::vector<Tool> chosen;
  std::ranges::copy_if(tools_, std::back_inserter(chosen), [](const Tool& tool) {
    return tool.row.annotations.read_only && tool.row.needs == Needs::kNothing;
  });
  return Registry(std::move(chosen));
}

Registry Registry::Without(Needs what) const {
  std::vector<Tool> chosen;
  std::ranges::copy_if(tools_, std::back_inserter(chosen),
                       [&](const Tool& tool) { return tool.row.needs != what; });
  return Registry(std::move(chosen));
}

Registry Registry::Changed(const std::function<Tool(Tool)>& change) const {
  std::vector<Tool> changed;
  for (const Tool& tool : tools_) changed.push_back(change(tool));
  return Registry(std::move(changed));
}

const Tool* Registry::Find(std::string_view name) const {
  const auto found = std::ranges::lower_bound(
      tools_, name, {}, [](const Tool& tool) { return std::string_view(tool.row.name); });
  return found != tools_.end() && found->row.name == name ? &*found : nullptr;
}

std::vector<std::string> Registry::Groups() const {
  std::set<std::string> groups;
  for (const Tool& tool : tools_) groups.insert(tool.row.group);
  groups.erase(std::string(kCoreGroup));
  // The core group is first, because it is the default of the setting.
  std::vector<std::string> names = {std::string(kCoreGroup)};
  names.insert(names.end(), groups.begin(), groups.end());
  return names;
}

}  // namespace polybox::tools
