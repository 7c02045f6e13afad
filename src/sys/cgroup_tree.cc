#include "sys/cgroup_tree.h"

#include <algorithm>
#include <optional>

#include "base/files.h"
#include "base/split.h"

namespace polybox::sys {
namespace {

struct Mount {
  CgroupVersion version;
  std::string root;
  std::string point;
  std::vector<std::string> options;
};

/// Parses a line of mountinfo: `36 25 0:31 /root /point options optional... - type source
/// super,options`.
std::optional<Mount> ParseMount(const std::string& line) {
  const std::vector<std::string> fields = Split(line, ' ');
  const auto dash = std::ranges::find(fields, "-");
  if (fields.size() < 5 || fields.end() - dash < 4) return std::nullopt;
  const std::string& type = dash[1];
  if (type != "cgroup" && type != "cgroup2") return std::nullopt;
  return Mount{type == "cgroup2" ? CgroupVersion::kV2 : CgroupVersion::kV1, fields[3], fields[4],
               Split(dash[3], ',')};
}

struct OwnPath {
  std::vector<std::string> controllers;  // empty: v2
  std::string path;
};

/// Parses a line of /proc/self/cgroup: `4:memory:/path`, or `0::/path` for v2.
std::optional<OwnPath> ParseOwnPath(const std::string& line) {
  const std::size_t first = line.find(':');
  const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
  if (second == std::string::npos) return std::nullopt;
  return OwnPath{Split(line.substr(first + 1, second - first - 1), ','), line.substr(second + 1)};
}

bool Belongs(const Mount& mount, const OwnPath& own) {
  if (own.controllers.empty()) return mount.version == CgroupVersion::kV2;
  return mount.version == CgroupVersion::kV1 &&
         std::ranges::all_of(own.controllers, [&](const std::string& controller) {
           return std::ranges::count(mount.options, controller) != 0;
         });
}

/// Returns the directory of this process's cgroup below the mount point. Returns nothing when the
/// mount shows another part of the tree.
std::optional<std::string> OwnDirectory(const Mount& mount, const std::string& path) {
  if (mount.root == "/") return path == "/" ? mount.point : mount.point + path;
  if (path == mount.root) return mount.point;
  if (path.starts_with(mount.root + "/")) return mount.point + path.substr(mount.root.size());
  return std::nullopt;
}

}  // namespace

std::vector<CgroupHierarchy> ParseCgroups(std::string_view mountinfo,
                                          std::string_view own_cgroups) {
  std::vector<Mount> mounts;
  for (const std::string& line : Split(mountinfo, '\n')) {
    if (auto mount = ParseMount(line)) mounts.push_back(std::move(*mount));
  }
  std::vector<CgroupHierarchy> hierarchies;
  for (const std::string& line : Split(own_cgroups, '\n')) {
    const auto own = ParseOwnPath(line);
    if (!own) continue;
    for (const Mount& mount : mounts) {
      if (!Belongs(mount, *own)) continue;
      if (auto directory = OwnDirectory(mount, own->path)) {
        hierarchies.push_back({mount.version, own->controllers, std::move(*directory)});
        break;
      }
    }
  }
  return hierarchies;
}

std::vector<CgroupHierarchy> ReadCgroups() {
  const std::string mounts = ReadFile("/proc/self/mountinfo").value_or("");
  const std::string own = ReadFile("/proc/self/cgroup").value_or("");
  std::vector<CgroupHierarchy> hierarchies = ParseCgroups(mounts, own);
  for (CgroupHierarchy& hierarchy : hierarchies) {
    if (hierarchy.version != CgroupVersion::kV2) continue;
    std::string offered = ReadFile(hierarchy.own_directory + "/cgroup.controllers").value_or("");
    std::ranges::replace(offered, '\n', ' ');
    hierarchy.controllers = Split(offered, ' ');
  }
  return hierarchies;
}

}  // namespace polybox::sys
