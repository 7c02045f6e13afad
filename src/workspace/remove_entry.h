// Removes a file or a directory tree of a workspace. Follows no link. Nothing is removed if the
// tree has something that must stay. Any thread.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "base/result.h"
#include "workspace/resolve.h"

namespace polybox::workspace {

struct Removed {
  std::size_t files = 0;
  std::size_t directories = 0;
};

/// Returns an error if the entry `path` (from the root of the workspace) must stay.
using MayRemove = std::function<Status(const std::string& path)>;

/// Calls `check` for the entry at `place` and for all entries below it, without changing anything.
/// Returns the first error. Fails also if the tree is too deep or too large to be checked.
Status CheckTree(const Place& place, const MayRemove& check);

/// Removes the entry at `place` with all that is below it. Checks each entry again, because others
/// can appear after CheckTree(). On failure, what was removed before stays removed.
Result<Removed> RemoveTree(const Place& place, const MayRemove& check);

}  // namespace polybox::workspace
