// The workspaces of one server: what `--workspace` and `--workspaces` name, and which of them a
// call of a tool means. Immutable once made; any thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "workspace/workspace.h"

namespace polybox::workspace {

/// The directory of a workspace if no setting names one.
inline constexpr std::string_view kDefaultRoot = "/workspace";

struct WorkspaceEntry {
  std::string name;
  std::string path;
};

/// Parses "name=path,path": a path without a name gets its last component as name.
Result<std::vector<WorkspaceEntry>> ParseWorkspaces(std::string_view text);

/// The settings `workspace` and `workspaces`, and what holds for all workspaces.
struct WorkspaceSettings {
  std::string workspace = std::string(kDefaultRoot);
  std::string workspaces = {};
  WorkspaceOptions options = {};
};

class WorkspaceSet {
 public:
  /// Opens every workspace. Fails if both settings name one.
  static Result<WorkspaceSet> Open(const WorkspaceSettings& settings);
  /// Opens every entry. Fails for the first that cannot be opened or has the name of another.
  static Result<WorkspaceSet> Open(const std::vector<WorkspaceEntry>& entries,
                                   const WorkspaceOptions& options);

  /// Returns the workspace that a call means. `hint` is its argument `workspace`, "" if it has
  /// none. The workspace lives as long as the set.
  Result<Workspace*> Find(std::string_view hint) const;
  /// In the order of the settings, never empty.
  const std::vector<std::unique_ptr<Workspace>>& all() const { return workspaces_; }

 private:
  /// Returns all names, sorted, separated by ", ".
  std::string Names() const;

  std::vector<std::unique_ptr<Workspace>> workspaces_;
};

}  // namespace polybox::workspace
