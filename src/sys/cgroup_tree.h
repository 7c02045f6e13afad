// Finds this process's cgroups in the hierarchies of the host: v1, v2, both (hybrid) or none. Only
// reads.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace polybox::sys {

enum class CgroupVersion { kV1, kV2 };

/// One mounted hierarchy, and this process's cgroup in it.
struct CgroupHierarchy {
  CgroupVersion version = CgroupVersion::kV1;
  /// v1: the controllers of the mount. v2: the controllers in `cgroup.controllers` of this
  /// process's cgroup.
  std::vector<std::string> controllers;
  /// The directory of this process's cgroup, as this process sees it.
  std::string own_directory;
};

/// Parses the texts of /proc/self/mountinfo and /proc/self/cgroup. Leaves out a hierarchy whose
/// mount does not show this process's cgroup, as in a container that sees only a part. Does not
/// fill in v2 controllers.
std::vector<CgroupHierarchy> ParseCgroups(std::string_view mountinfo, std::string_view own_cgroups);

/// The hierarchies of this process, v2 controllers included.
std::vector<CgroupHierarchy> ReadCgroups();

}  // namespace polybox::sys
