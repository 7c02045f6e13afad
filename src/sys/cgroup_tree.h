// Where this process stands in the cgroup hierarchies of the host: v1, v2, both (hybrid) or none.
// Reading only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace polybox::sys {

enum class CgroupVersion { kV1, kV2 };

/// One mounted hierarchy and our own place in it.
struct CgroupHierarchy {
  CgroupVersion version = CgroupVersion::kV1;
  /// v1: the controllers of the mount. v2: those that `cgroup.controllers` of our place offers.
  std::vector<std::string> controllers;
  /// Directory of the cgroup that this process is in, as seen from here.
  std::string own_directory;
};

/// Reads the texts of /proc/self/mountinfo and /proc/self/cgroup. Hierarchies whose mount does not
/// show our own place (a container that sees only a part) are left out. v2 controllers are not
/// filled in.
std::vector<CgroupHierarchy> ParseCgroups(std::string_view mountinfo, std::string_view own_cgroups);

/// Those of this process.
std::vector<CgroupHierarchy> ReadCgroups();

}  // namespace polybox::sys
