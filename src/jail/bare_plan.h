// The plan of a slot without namespaces: its scratch directories, and what Landlock allows there.
#pragma once

#include <string>

#include "jail/plan.h"

namespace polybox::jail {

Plan MakeBarePlan(const Spec& spec);

/// "read execute": the rights of a rule, for tests and for people.
std::string DescribeRights(std::uint64_t rights);

/// Whether a uid that owns nothing could not get to one of the trees: some directory on the way to
/// it, such as a home, is closed. Looks at the host.
bool HasClosedTrees(const std::vector<Tree>& trees);

}  // namespace polybox::jail
