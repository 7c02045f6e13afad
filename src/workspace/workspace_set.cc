#include "workspace/workspace_set.h"

#include <algorithm>
#include <climits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/printable.h"

namespace polybox::workspace {
namespace {

constexpr std::string_view kSpace = " \t\r\n\v\f";

std::string_view Trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

std::string Quoted(std::string_view text) {
  return "\"" + PrintableForQuotes(text, PATH_MAX) + "\"";
}

/// Returns the last component of a path; "/" for the root and "." for the empty path.
std::string BaseName(std::string_view path) {
  if (path.empty()) return ".";
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  if (path == "/") return "/";
  return std::string(path.substr(path.rfind('/') + 1));
}

}  // namespace

Result<std::vector<WorkspaceEntry>> ParseWorkspaces(std::string_view text) {
  std::vector<WorkspaceEntry> entries;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view entry = Trim(rest.substr(0, comma));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    if (entry.empty()) continue;
    const std::size_t equals = entry.find('=');
    const bool named = equals != std::string_view::npos;
    std::string name(named ? Trim(entry.substr(0, equals)) : "");
    const std::string path(named ? Trim(entry.substr(equals + 1)) : entry);
    if (path.empty()) {
      return Error(ErrorKind::kInvalid, "workspaces: empty path in entry " + Quoted(entry));
    }
    if (name.empty()) name = BaseName(path);
    entries.push_back({std::move(name), path});
  }
  if (!entries.empty()) return entries;
  return Error(ErrorKind::kInvalid, "workspaces: no entries parsed from " + Quoted(text));
}

Result<WorkspaceSet> WorkspaceSet::Open(const WorkspaceSettings& settings) {
  const std::string& single = settings.workspace;
  if (settings.workspaces.empty()) {
    Result<std::unique_ptr<Workspace>> workspace =
        Workspace::Open(BaseName(single), single, settings.options);
    if (!workspace.ok()) {
      Error error = std::move(workspace).error().In("workspace");
      if (single != kDefaultRoot) return error;
      return std::move(error).WithFix("--workspace DIR names the directory for the tools");
    }
    WorkspaceSet set;
    set.workspaces_.push_back(std::move(workspace).value());
    return set;
  }
  if (!single.empty() && single != kDefaultRoot) {
    return Error(ErrorKind::kInvalid,
                 fmt::format("workspace: -workspace {} and -workspaces {} are mutually exclusive; "
                             "use one",
                             Quoted(single), Quoted(settings.workspaces)));
  }
  POLYBOX_ASSIGN_OR_RETURN(const std::vector<WorkspaceEntry> entries,
                           ParseWorkspaces(settings.workspaces));
  return Open(entries, settings.options);
}

Result<WorkspaceSet> WorkspaceSet::Open(const std::vector<WorkspaceEntry>& entries,
                                        const WorkspaceOptions& options) {
  if (entries.empty()) {
    return Error(ErrorKind::kInvalid, "at least one workspace entry is required");
  }
  WorkspaceSet set;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto& [name, path] = entries[i];
    if (name.empty() || name == "." || name == "/") {
      return Error(ErrorKind::kInvalid,
                   fmt::format("workspace[{}]: cannot derive a non-empty name from root {}; pass "
                               "an explicit name",
                               i, Quoted(path)));
    }
    if (std::ranges::count(set.workspaces_, name, &Workspace::name) > 0) {
      return Error(ErrorKind::kInvalid,
                   fmt::format("workspace[{}]: duplicate name {}", i, Quoted(name)));
    }
    Result<std::unique_ptr<Workspace>> workspace = Workspace::Open(name, path, options);
    if (!workspace.ok()) {
      return std::move(workspace).error().In(fmt::format("workspace[{}] ({})", i, name));
    }
    set.workspaces_.push_back(std::move(workspace).value());
  }
  return set;
}

std::string WorkspaceSet::Names() const {
  std::vector<std::string> names;
  for (const auto& workspace : workspaces_) names.push_back(workspace->name());
  std::ranges::sort(names);
  return fmt::format("{}", fmt::join(names, ", "));
}

Result<Workspace*> WorkspaceSet::Find(std::string_view hint) const {
  if (workspaces_.empty()) return Error(ErrorKind::kInvalid, "no workspace configured (BUG)");
  const std::string_view name = Trim(hint);
  if (name.empty() && workspaces_.size() == 1) return workspaces_.front().get();
  if (name.empty()) {
    return Error(ErrorKind::kInvalid,
                 fmt::format("multi-workspace sandbox: {} workspaces configured ({}) — pass "
                             "`workspace` to pick one",
                             workspaces_.size(), Names()));
  }
  const auto found = std::ranges::find(workspaces_, name, &Workspace::name);
  if (found != workspaces_.end()) return found->get();
  return Error(ErrorKind::kNotFound,
               fmt::format("unknown workspace {}; configured: {}", Quoted(name), Names()));
}

}  // namespace polybox::workspace
