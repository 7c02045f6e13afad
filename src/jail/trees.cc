#include "jail/trees.h"

#include <fcntl.h>
#include <sstream>
#include <unistd.h>
#include <utility>

#include <linux/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "jail/owner_map.h"

namespace polybox::jail {
namespace {

int FsConfig(int context, unsigned command, const char* key, const char* value) {
  return static_cast<int>(::syscall(SYS_fsconfig, context, command, key, value, 0));
}

/// Sets mount attributes on a detached mount and all mounts below it.
Status SetAttributes(int mount, std::uint64_t set, const std::string& what) {
  mount_attr attributes{};
  attributes.attr_set = set;
  if (::syscall(SYS_mount_setattr, mount, "", AT_EMPTY_PATH | AT_RECURSIVE, &attributes,
                sizeof attributes) != 0) {
    return Error::FromErrno("make read-only " + what);
  }
  return {};
}

/// Returns a tmpfs that is mounted nowhere, for a few inodes without content.
Result<UniqueFd> DetachedTmpfs() {
  const UniqueFd context(static_cast<int>(::syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC)));
  if (!context.valid()) return Error::FromErrno("open a tmpfs");
  const std::pair<const char*, const char*> options[] = {
      {"source", "polybox"}, {"mode", "755"}, {"size", "4k"}, {"nr_inodes", "32"}};
  for (const auto& [key, value] : options) {
    if (FsConfig(context.get(), FSCONFIG_SET_STRING, key, value) != 0) {
      return Error::FromErrno("configure a tmpfs");
    }
  }
  if (FsConfig(context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr) != 0) {
    return Error::FromErrno("make a tmpfs");
  }
  UniqueFd mount(
      static_cast<int>(::syscall(SYS_fsmount, context.get(), FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID)));
  if (!mount.valid()) return Error::FromErrno("mount a tmpfs");
  return mount;
}

/// Replaces the octal escapes of mountinfo, which writes blanks and backslashes as in \040.
std::string Unescape(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 3 >= text.size()) {
      plain += text[i];
      continue;
    }
    plain += static_cast<char>(std::stoi(std::string(text.substr(i + 1, 3)), nullptr, 8));
    i += 3;
  }
  return plain;
}

/// Returns the paths of all mounts in `mountinfo`.
std::vector<std::string> MountPoints(std::string_view mountinfo) {
  std::vector<std::string> points;
  std::istringstream lines{std::string(mountinfo)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string number;
    std::string parent;
    std::string device;
    std::string root;
    std::string point;
    if (fields >> number >> parent >> device >> root >> point) points.push_back(Unescape(point));
  }
  return points;
}

}  // namespace

std::vector<Tree> WithSubmounts(const std::vector<Tree>& trees, std::string_view mountinfo) {
  std::vector<Tree> all = trees;
  const std::vector<std::string> points = MountPoints(mountinfo);
  for (const Tree& tree : trees) {
    for (const std::string& point : points) {
      struct stat info{};
      // A mount that root itself may not look at (another user's FUSE mount) is left out.
      if (!point.starts_with(tree.source + "/") || ::stat(point.c_str(), &info) != 0) continue;
      all.push_back({.source = point,
                     .target = tree.target + point.substr(tree.source.size()),
                     .is_file = !S_ISDIR(info.st_mode),
                     .is_mount = true,
                     .writable = tree.writable,
                     .owner = tree.owner});
    }
  }
  return all;
}

Result<UniqueFd> OpenTree(const Tree& tree, const HostIds& guest) {
  UniqueFd fd;
  if (tree.owner) {
    // One mount alone: a mount below it may not allow the map. WithSubmounts() adds them.
    POLYBOX_ASSIGN_OR_RETURN(fd, CopyMount(tree.source));
    Status mapped = MapOwner(fd.get(), *tree.owner, guest);
    // Guests then see the owners of a mount below the tree as they are.
    if (!mapped.ok() && !tree.is_mount) return std::move(mapped).In("show " + tree.source).error();
  } else {
    fd.reset(static_cast<int>(::syscall(SYS_open_tree, AT_FDCWD, tree.source.c_str(),
                                        OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE)));
    if (!fd.valid()) return Error::FromErrno("open the tree " + tree.source);
  }
  const std::uint64_t kind = IsDevice(tree) ? MOUNT_ATTR_NOEXEC : MOUNT_ATTR_NODEV;
  const std::uint64_t access = tree.writable ? 0 : MOUNT_ATTR_RDONLY;
  POLYBOX_RETURN_IF_ERROR(SetAttributes(fd.get(), MOUNT_ATTR_NOSUID | access | kind, tree.source));
  return fd;
}

Result<UniqueFd> MakeDevices(const std::vector<std::string>& paths) {
  POLYBOX_ASSIGN_OR_RETURN(UniqueFd mount, DetachedTmpfs());
  for (const std::string& path : paths) {
    const std::string name = path.substr(path.rfind('/') + 1);
    struct stat info{};
    if (::stat(path.c_str(), &info) != 0) return Error::FromErrno("look at " + path);
    if (::mknodat(mount.get(), name.c_str(), info.st_mode, info.st_rdev) != 0 ||
        ::fchmodat(mount.get(), name.c_str(), info.st_mode & 0777, 0) != 0) {
      return Error::FromErrno("make the device " + name);
    }
  }
  POLYBOX_RETURN_IF_ERROR(
      SetAttributes(mount.get(), MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOEXEC, "the devices"));
  return mount;
}

}  // namespace polybox::jail
