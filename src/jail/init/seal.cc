#include "jail/init/seal.h"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

#include <linux/mount.h>
#include <linux/openat2.h>
#include <linux/stat.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>

#include "base/unique_fd.h"

namespace polybox::jail::init {
namespace {

/// Opens the path itself. A guest that puts a link into the path leads nowhere else.
UniqueFd OpenWithoutLinks(const std::string& path) {
  open_how how{};
  how.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC;
  how.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  return UniqueFd(
      static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, path.c_str(), &how, sizeof how)));
}

/// Returns whether the file that is open at `fd` is reached through a mount of its own.
bool IsMountRoot(int fd) {
  struct statx info{};
  const long failed = ::syscall(SYS_statx, fd, "", AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW, 0, &info);
  return failed == 0 && (info.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

bool IsReadOnly(int fd) {
  struct statvfs info{};
  return ::fstatvfs(fd, &info) == 0 && (info.f_flag & ST_RDONLY) != 0;
}

/// Returns a detached mount of the file that is open at `fd`, with all mounts below it.
UniqueFd CloneMount(int fd) {
  constexpr unsigned kFlags = AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC;
  UniqueFd tree(static_cast<int>(::syscall(SYS_open_tree, fd, "", kFlags | AT_RECURSIVE)));
  // Mounts that came with the workspace's own mount cannot be parted from it.
  if (!tree.valid()) tree.reset(static_cast<int>(::syscall(SYS_open_tree, fd, "", kFlags)));
  return tree;
}

}  // namespace

int SealPath(const Seal& seal) {
  const UniqueFd file = OpenWithoutLinks(seal.path);
  struct stat info{};
  if (!file.valid() || ::fstat(file.get(), &info) != 0) return errno;
  if (info.st_dev != seal.device || info.st_ino != seal.inode) return ESTALE;
  if (IsMountRoot(file.get()) && (seal.writable || IsReadOnly(file.get()))) return 0;
  const UniqueFd tree = CloneMount(file.get());
  if (!tree.valid()) return errno;
  mount_attr attributes{};
  attributes.attr_set = seal.writable ? 0 : MOUNT_ATTR_RDONLY;
  if (!seal.writable && ::syscall(SYS_mount_setattr, tree.get(), "", AT_EMPTY_PATH | AT_RECURSIVE,
                                  &attributes, sizeof attributes) != 0) {
    return errno;
  }
  constexpr unsigned kBothOpen = MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH;
  return ::syscall(SYS_move_mount, tree.get(), "", file.get(), "", kBothOpen) == 0 ? 0 : errno;
}

}  // namespace polybox::jail::init
