// The root directory of a project in a workspace, as detection sees it: the names of its plain
// files, and the contents of small ones. Nothing outside the workspace is ever read, and no link is
// followed. Any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "workspace/workspace.h"

namespace polybox::verify {

class Project {
 public:
  /// Opens a directory of the workspace; "" is its root. Fails with "path: ...".
  static Result<Project> Open(const workspace::Workspace& workspace, std::string_view path);

  /// The absolute path without links.
  const std::string& directory() const { return directory_; }
  /// The path from the root of the workspace; "" for the root.
  const std::string& path() const { return path_; }
  /// The names of the plain files, sorted.
  const std::vector<std::string>& files() const { return files_; }
  bool Has(std::string_view name) const;
  /// Returns the content of a plain file of the directory; nothing if there is none, or if it is
  /// larger than any manifest.
  std::optional<std::string> Read(const std::string& name) const;

 private:
  Project() = default;

  workspace::Owner owner_;
  UniqueFd fd_;
  std::string directory_;
  std::string path_;
  std::vector<std::string> files_;
};

}  // namespace polybox::verify
