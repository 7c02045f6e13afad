// Mounts parts of the host in the slot's root. A tree that is merely bound has the host's own
// inodes. A lock or a watch there reaches across all slots, and the mount table names the host's
// path. So a directory is shown through an overlay of the slot's own, and a small file is copied.
#include "jail/init/trees.h"

#include <algorithm>
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

#include "jail/init/root.h"
#include "sys/open_below.h"

namespace polybox::jail::init {
namespace {

// Where a tree of the host is mounted in the stage while it is prepared. The next tree is mounted
// on top.
constexpr const char* kDirectory = "tree";
constexpr const char* kFile = "file";
// An overlay without a writable layer needs two layers. The upper one is empty and belongs to the
// slot: it answers questions about the file system as a whole (statfs).
constexpr const char* kVoid = "void";
// Guests can read this in their mount table, so it names no path of the host. The options are set
// whatever the kernel's defaults are: nothing here is written, moved or exported.
constexpr const char* kOverlay =
    "lowerdir=void:tree,userxattr,xino=off,metacopy=off,redirect_dir=nofollow,index=off,"
    "nfs_export=off";

// An overlay that keeps changes needs what guests have written (kChanges). Guests write to it at
// kShown until it is moved to its target.
constexpr const char* kChanges = "changes";
constexpr const char* kShown = "shown";
constexpr const char* kOverlayOfChanges =
    "lowerdir=tree,upperdir=changes/upper,workdir=changes/work,userxattr,xino=off,metacopy=off,"
    "redirect_dir=nofollow,index=off,nfs_export=off";

// Copies are in memory, one for each slot.
constexpr off_t kLargestCopy = 1 << 20;

/// Sets mount attributes on the mount at `path` and all mounts below it.
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

/// A part of the host's tree: the descriptor `tree` if it is not negative, else the path `source`.
struct Part {
  std::int32_t tree;
  const std::string& source;
  std::uint64_t flags;
};

/// Mounts a part of the host's tree on `where`, with all mounts below it.
int Place(const Part& part, std::span<const int> trees, const char* where) {
  if (part.tree >= 0) {
    const auto index = static_cast<std::size_t>(part.tree);
    if (index >= trees.size()) return EBADF;
    // The server has set the flags on the detached tree already.
    return OrErrno(
        ::syscall(SYS_move_mount, trees[index], "", AT_FDCWD, where, MOVE_MOUNT_F_EMPTY_PATH));
  }
  if (::mount(part.source.c_str(), where, nullptr, MS_BIND | MS_REC, nullptr) != 0) return errno;
  return SetFlags(where, part.flags);
}

Part TreeOf(const Operation& operation) {
  return {operation.tree, operation.source, operation.flags};
}

int MoveTo(const char* from, const std::string& target) {
  return OrErrno(::syscall(SYS_move_mount, AT_FDCWD, from, AT_FDCWD, target.c_str(), 0));
}

int MakeFile(const char* path) {
  const UniqueFd file(::open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  return file.valid() ? 0 : errno;
}

/// A target that a larger tree shows already exists, and cannot be made there.
int MakeTarget(const Operation& operation) {
  if (!operation.is_file) return MakeDirectories(operation.target);
  if (::access(operation.target.c_str(), F_OK) == 0) return 0;
  if (const int error = MakeParent(operation.target)) return error;
  return MakeFile(operation.target.c_str());
}

/// Shows the tree at kDirectory through an overlay.
int ShowOverlay(std::uint64_t flags, const std::string& target, int& shared) {
  struct statvfs info{};
  const bool no_exec = ::statvfs(kDirectory, &info) == 0 && (info.f_flag & ST_NOEXEC) != 0;
  if (no_exec) flags |= MS_NOEXEC;
  if (::mount("polybox", target.c_str(), "overlay", flags, kOverlay) == 0) return 0;
  // The kernel has no overlays, or the tree lies on two overlays already.
  shared = errno;
  return MoveTo(kDirectory, target);
}

int CopyContent(int from, const struct stat& info, const std::string& target) {
  const UniqueFd to(::open(target.c_str(), O_WRONLY | O_CLOEXEC));
  if (!to.valid()) return errno;
  int error = 0;
  for (off_t left = info.st_size; left > 0 && error == 0;) {
    const ssize_t count = ::sendfile(to.get(), from, nullptr, static_cast<std::size_t>(left));
    if (count <= 0) error = count < 0 ? errno : EIO;
    left -= count;
  }
  return error == 0 ? OrErrno(::fchmod(to.get(), info.st_mode & 0777)) : error;
}

/// Copies a regular file of at most kLargestCopy bytes. Returns 0 or an errno.
int Copy(const char* source, const std::string& target) {
  const UniqueFd from(::open(source, O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info{};
  if (!from.valid() || ::fstat(from.get(), &info) != 0) return errno;
  if (!S_ISREG(info.st_mode)) return EINVAL;
  // The copy belongs to the slot init. Guests who own the file itself could not read it.
  if ((info.st_mode & S_IROTH) == 0) return EACCES;
  if (info.st_size > kLargestCopy) return EFBIG;
  return CopyContent(from.get(), info, target);
}

/// Shows the file at kFile as a copy. A file that is mounted inside a larger tree cannot be written
/// there, so it is bound instead.
int ShowCopy(const std::string& target, int& shared) {
  shared = Copy(kFile, target);
  return shared == 0 ? 0 : MoveTo(kFile, target);
}

/// Shows one tree. The current directory is the one in which the slot init assembles the new root.
int Show(const Operation& operation, std::span<const int> trees, int& shared) {
  const std::string target = std::string(kAssembly) + "/" + operation.target;
  if (!operation.own) return Place(TreeOf(operation), trees, target.c_str());
  const char* where = operation.is_file ? kFile : kDirectory;
  if (const int error = Place(TreeOf(operation), trees, where)) return error;
  return operation.is_file ? ShowCopy(target, shared)
                           : ShowOverlay(operation.flags, target, shared);
}

/// Mounts the tree on a directory of the stage, with the overlay of changes if there is one.
/// Returns 0 or an errno, and the directory in `where`.
int Assemble(const Operation& operation, std::span<const int> trees, const char*& where,
             int& shared) {
  where = operation.is_file ? kFile : kDirectory;
  if (const int error = Place(TreeOf(operation), trees, where)) return error;
  if (operation.changes.empty()) return 0;
  const std::uint64_t writable = operation.flags & ~static_cast<std::uint64_t>(MS_RDONLY);
  shared = Place({operation.changes_tree, operation.changes, writable}, trees, kChanges);
  if (shared == 0) {
    shared = OrErrno(::mount("polybox", kShown, "overlay", writable, kOverlayOfChanges));
  }
  if (shared == 0) where = kShown;
  return 0;
}

/// Shows a tree at a target that a guest of an earlier lease may have made.
int ShowInWritable(const Operation& operation, const Sources& sources, int& shared) {
  constexpr std::uint64_t kNoLinks = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  const std::uint64_t kind = operation.is_file ? 0 : O_DIRECTORY;
  const open_how how = {
      .flags = O_PATH | O_CLOEXEC | O_NOFOLLOW | kind, .mode = 0, .resolve = kNoLinks};
  const UniqueFd target(static_cast<int>(
      ::syscall(SYS_openat2, AT_FDCWD, operation.target.c_str(), &how, sizeof how)));
  if (!target.valid()) return errno;
  if (::fchdir(sources.stage.get()) != 0) return errno;
  const char* where = nullptr;
  if (const int error = Assemble(operation, sources.trees, where, shared)) return error;
  return OrErrno(
      ::syscall(SYS_move_mount, AT_FDCWD, where, target.get(), "", MOVE_MOUNT_T_EMPTY_PATH));
}

}  // namespace

int OpenStage(UniqueFd& stage) {
  const char* options = "mode=755,size=64k,nr_inodes=64";
  if (::mount("polybox", kAssembly, "tmpfs", MS_NOSUID | MS_NODEV, options) != 0) return errno;
  stage.reset(::open(kAssembly, O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!stage.valid() || ::fchdir(stage.get()) != 0) return errno;
  if (const int error = MakeDirectories(kDirectory)) return error;
  for (const char* directory : {kVoid, kChanges, kShown}) {
    if (const int error = MakeDirectories(directory)) return error;
  }
  return MakeFile(kFile);
}

int StageTree(const Operation& operation, const Sources& sources) {
  if (::fchdir(sources.stage.get()) != 0) return errno;
  int error = MakeDirectories(operation.target);
  if (error == 0) error = Place(TreeOf(operation), sources.trees, operation.target.c_str());
  return ::chdir(kAssembly) == 0 ? error : errno;
}

int ShowTree(const Operation& operation, const Sources& sources, int& shared) {
  if (operation.in_writable) {
    int error = ShowInWritable(operation, sources, shared);
    // A guest may have replaced or removed the target. It then lacks what is shown there. Anything
    // else may be there to protect what it covers.
    if (!operation.changes.empty()) shared = std::max(shared, std::exchange(error, 0));
    return ::chdir(kAssembly) == 0 ? error : errno;
  }
  if (const int error = MakeTarget(operation)) return error;
  if (::fchdir(sources.stage.get()) != 0) return errno;
  const int error = Show(operation, sources.trees, shared);
  return ::chdir(kAssembly) == 0 ? error : errno;
}

}  // namespace polybox::jail::init
