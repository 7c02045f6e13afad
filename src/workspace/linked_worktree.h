// Recognises a workspace that is a linked worktree of git: its `.git` is a file, and the
// repository is a directory elsewhere, which git commands in the workspace must be able to write.
// Any thread.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "workspace/workspace.h"

namespace polybox::workspace {

struct LinkedWorktree {
  /// The directory of the repository: the absolute path without links.
  std::string repository;
  /// The same directory, open with O_PATH.
  UniqueFd directory;
};

/// Returns the repository of a linked worktree; nothing if the workspace is none, or contains its
/// repository. An error if `.git` names a repository that does not name the workspace, or that
/// belongs to another user: anyone can write such a file.
Result<std::optional<LinkedWorktree>> FindLinkedWorktree(const Workspace& workspace);

}  // namespace polybox::workspace
