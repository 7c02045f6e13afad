// Parts of the host in the slot's root. A tree that is merely bound has the host's own inodes: a
// lock or a watch there reaches across all slots, and the mount table names the host's path. So a
// directory is shown through an overlay of the slot's own, and a small file is copied.
#include <cerrno>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

#include <linux/mount.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>

#include "jail/init/slot.h"

namespace polybox::jail::init {
namespace {

// In the stage: where a tree of the host is while it is made ready. The next one goes on top of it.
constexpr const char* kDirectory = "tree";
constexpr const char* kFile = "file";
// An overlay without a place to write needs two layers. The upper one is empty and ours: what is
// asked about the file system as a whole (statfs) is answered there.
constexpr const char* kVoid = "void";
// Guests read this in their mount table, so no path of the host is in it. Whatever the kernel's
// defaults are: nothing here is written, moved or exported.
constexpr const char* kOverlay =
    "lowerdir=void:tree,userxattr,xino=off,metacopy=off,redirect_dir=nofollow,index=off,"
    "nfs_export=off";

// Copies are in memory, once for every slot.
constexpr off_t kLargestCopy = 1 << 20;

int SetFlags(const char* path, std::uint64_t flags) {
  constexpr std::pair<std::uint64_t, std::uint64_t> kFlags[] = {{MS_RDONLY, MOUNT_ATTR_RDONLY},
                                                                {MS_NOSUID, MOUNT_ATTR_NOSUID},
                                                                {MS_NODEV, MOUNT_ATTR_NODEV},
                                                                {MS_NOEXEC, MOUNT_ATTR_NOEXEC}};
  mount_attr attributes{};
  for (const auto& [flag, attribute] : kFlags) {
    if ((flags & flag) != 0) attributes.attr_set |= attribute;
  }
  return OrErrno(
      ::syscall(SYS_mount_setattr, AT_FDCWD, path, AT_RECURSIVE, &attributes, sizeof attributes));
}

/// Mounts the host's tree on `where`, with all that is mounted below it.
int Place(const Operation& operation, const std::vector<int>& trees, const char* where) {
  if (operation.tree >= 0) {
    const auto index = static_cast<std::size_t>(operation.tree);
    if (index >= trees.size()) return EBADF;
    // The server has set the flags on the detached tree already.
    return OrErrno(
        ::syscall(SYS_move_mount, trees[index], "", AT_FDCWD, where, MOVE_MOUNT_F_EMPTY_PATH));
  }
  if (::mount(operation.source.c_str(), where, nullptr, MS_BIND | MS_REC, nullptr) != 0) {
    return errno;
  }
  return SetFlags(where, operation.flags);
}

int MoveTo(const char* from, const std::string& target) {
  return OrErrno(::syscall(SYS_move_mount, AT_FDCWD, from, AT_FDCWD, target.c_str(), 0));
}

int MakeFile(const char* path) {
  const int fd = ::open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return errno;
  ::close(fd);
  return 0;
}

/// What a larger tree shows already is there, and cannot be made.
int MakeTarget(const Operation& operation) {
  if (!operation.is_file) return MakeDirectories(operation.target);
  if (::access(operation.target.c_str(), F_OK) == 0) return 0;
  if (const int error = MakeParent(operation.target)) return error;
  return MakeFile(operation.target.c_str());
}

/// The tree at kDirectory.
int ShowOverlay(std::uint64_t flags, const std::string& target, int& shared) {
  struct statvfs info{};
  const bool no_exec = ::statvfs(kDirectory, &info) == 0 && (info.f_flag & ST_NOEXEC) != 0;
  if (no_exec) flags |= MS_NOEXEC;
  if (::mount("polybox", target.c_str(), "overlay", flags, kOverlay) == 0) return 0;
  // The kernel has no overlays, or the tree is on two already.
  shared = errno;
  return MoveTo(kDirectory, target);
}

int CopyContent(int from, const struct stat& info, const std::string& target) {
  const int to = ::open(target.c_str(), O_WRONLY | O_CLOEXEC);
  if (to < 0) return errno;
  int error = 0;
  for (off_t left = info.st_size; left > 0 && error == 0;) {
    const ssize_t count = ::sendfile(to, from, nullptr, static_cast<std::size_t>(left));
    if (count <= 0) error = count < 0 ? errno : EIO;
    left -= count;
  }
  if (error == 0) error = OrErrno(::fchmod(to, info.st_mode & 0777));
  ::close(to);
  return error;
}

int Copy(const char* source, const std::string& target) {
  const int from = ::open(source, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (from < 0) return errno;
  struct stat info{};
  int error = OrErrno(::fstat(from, &info));
  if (error == 0 && !S_ISREG(info.st_mode)) error = EINVAL;
  if (error == 0 && info.st_size > kLargestCopy) error = EFBIG;
  if (error == 0) error = CopyContent(from, info, target);
  ::close(from);
  return error;
}

/// The tree at kFile. A file that is mounted inside a larger tree cannot be written there.
int ShowCopy(const std::string& target, int& shared) {
  shared = Copy(kFile, target);
  return shared == 0 ? 0 : MoveTo(kFile, target);
}

/// In the stage.
int Show(const Operation& operation, const std::vector<int>& trees, int& shared) {
  const std::string target = std::string(kAssembly) + "/" + operation.target;
  if (!operation.own) return Place(operation, trees, target.c_str());
  const char* where = operation.is_file ? kFile : kDirectory;
  if (const int error = Place(operation, trees, where)) return error;
  return operation.is_file ? ShowCopy(target, shared)
                           : ShowOverlay(operation.flags, target, shared);
}

}  // namespace

int OpenStage(int& stage) {
  const char* options = "mode=755,size=64k,nr_inodes=64";
  if (::mount("polybox", kAssembly, "tmpfs", MS_NOSUID | MS_NODEV, options) != 0) return errno;
  stage = ::open(kAssembly, O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (stage < 0 || ::fchdir(stage) != 0) return errno;
  if (const int error = MakeDirectories(kDirectory)) return error;
  if (const int error = MakeDirectories(kVoid)) return error;
  return MakeFile(kFile);
}

int StageTree(const Operation& operation, const Sources& sources) {
  if (::fchdir(sources.stage) != 0) return errno;
  int error = MakeDirectories(operation.target);
  if (error == 0) error = Place(operation, sources.trees, operation.target.c_str());
  return ::chdir(kAssembly) == 0 ? error : errno;
}

int ShowTree(const Operation& operation, const Sources& sources, int& shared) {
  if (const int error = MakeTarget(operation)) return error;
  if (::fchdir(sources.stage) != 0) return errno;
  const int error = Show(operation, sources.trees, shared);
  return ::chdir(kAssembly) == 0 ? error : errno;
}

}  // namespace polybox::jail::init
