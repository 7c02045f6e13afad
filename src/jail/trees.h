// What the server prepares of the host's file tree for a slot. These are parts of the tree as
// detached mounts, and device nodes of the slot's own. plan.h decides where they are mounted;
// init/trees.cc mounts them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "jail/spec.h"

namespace polybox::jail {

/// Returns `trees` with one more tree for every mount below one of them. The slot init shows a tree
/// through an overlay, and an overlay does not show the mounts below its source. `mountinfo` is the
/// content of /proc/self/mountinfo.
std::vector<Tree> WithSubmounts(const std::vector<Tree>& trees, std::string_view mountinfo);

/// Returns a detached copy of a part of the host's file tree, with the mount flags that guests see.
/// `guest` are the host ids of the guests. Needs root.
Result<UniqueFd> OpenTree(const Tree& tree, const HostIds& guest);

/// Returns a detached file system with nodes for the same devices as `paths` of the host, under the
/// last component of each path. Needs root, and in a container the right to make devices.
Result<UniqueFd> MakeDevices(const std::vector<std::string>& paths);

}  // namespace polybox::jail
