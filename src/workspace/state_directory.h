// The directory in which polybox keeps what it knows of a workspace: CACHE/workspaces/HASH. It is
// never inside the workspace, where commands could change it. Any thread.
#pragma once

#include <string>

#include "base/result.h"
#include "workspace/workspace.h"

namespace polybox::workspace {

enum class Missing { kMake, kLeave };

/// Returns the absolute path without links. Makes the directory, or leaves a missing one missing.
/// Fails if the workspace contains the cache directory.
Result<std::string> StateDirectory(const Workspace& workspace, const std::string& cache_dir,
                                   Missing missing);

}  // namespace polybox::workspace
