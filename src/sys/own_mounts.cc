#include "sys/own_mounts.h"

#include <fcntl.h>
#include <limits>
#include <sched.h>

#include <fmt/format.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

namespace polybox::sys {

Status EnterOwnMounts() {
  if (::unshare(CLONE_NEWNS) != 0) return Error::FromErrno("make a mount namespace");
  // What the host unmounts must not stay busy through us.
  if (::mount("none", "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0) {
    return Error::FromErrno("keep mounts to ourselves");
  }
  return {};
}

Status MountMemory(const std::string& path, Bytes size, std::int64_t files) {
  // The directory itself is one of the inodes.
  const std::string options = fmt::format("mode=700,size={},nr_inodes={}", size.count(), files + 1);
  if (::mount("polybox", path.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, options.c_str()) != 0) {
    return Error::FromErrno("mount a tmpfs");
  }
  return {};
}

Result<FileSystemSize> OwnFileSystem(int directory) {
  struct stat inside{};
  struct stat above{};
  if (::fstatat(directory, "", &inside, AT_EMPTY_PATH) != 0 ||
      ::fstatat(directory, "..", &above, 0) != 0) {
    return Error::FromErrno("look at the directory");
  }
  if (inside.st_dev == above.st_dev) {
    return Error(ErrorKind::kNotFound, "it is part of a larger file system");
  }
  struct statvfs space{};
  if (::fstatvfs(directory, &space) != 0) return Error::FromErrno("look at the file system");
  return FileSystemSize{
      .bytes = Bytes(space.f_blocks * space.f_frsize),
      .files = space.f_files == 0 ? std::numeric_limits<std::uint64_t>::max() : space.f_files};
}

}  // namespace polybox::sys
