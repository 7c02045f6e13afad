// What the server prepares of the host's file tree for a slot: parts of it as detached mounts, and
// devices of the slot's own. See plan.h for where they go and init/trees.cc for how they are shown.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "jail/spec.h"

namespace polybox::jail {

/// Nothing is mounted below an overlay, whatever is mounted below the tree that it shows. So every
/// mount below a tree becomes a tree of its own. `mountinfo` is what /proc/self/mountinfo holds.
std::vector<Tree> WithSubmounts(const std::vector<Tree>& trees, std::string_view mountinfo);

/// A detached copy of a part of the host's file tree, with the flags that guests see it with.
/// Needs root.
Result<UniqueFd> OpenTree(const Tree& tree);

/// A detached file system with nodes for the same devices as `paths` of the host, by their last
/// names. Needs root, and a container that may make devices.
Result<UniqueFd> MakeDevices(const std::vector<std::string>& paths);

}  // namespace polybox::jail
