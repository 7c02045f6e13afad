// The plan of a slot without namespaces: its scratch directories, and the paths that Landlock
// allows its guests. jail/plan.h calls MakeBarePlan() for the grades below kRootless. Any thread
// may call these functions.
#pragma once

#include <string>

#include "jail/plan.h"

namespace polybox::jail {

/// Returns the plan for `spec`. Only a spec of grade kLandlock gets Landlock rules.
Plan MakeBarePlan(const Spec& spec);

/// Returns the names of the Landlock rights in `rights`, as in "read execute". For tests and for
/// plans that are printed.
std::string DescribeRights(std::uint64_t rights);

/// Returns whether a uid that owns nothing cannot reach one of the trees. The reason is a directory
/// that denies entry to others: on the path (such as a home directory) or the tree itself. Reads
/// the host's file system.
bool HasClosedTrees(const std::vector<Tree>& trees);

}  // namespace polybox::jail
