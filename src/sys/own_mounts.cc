#include "sys/own_mounts.h"

#include <fcntl.h>
#include <limits>
#include <sched.h>
#include <unistd.h>

#include <fmt/format.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>

namespace polybox::sys {
namespace {

/// Calls unshare() in a forked child, because the filter of an outer jail may answer by killing the
/// caller.
Status TryUnshare() {
  const pid_t pid = ::fork();
  if (pid < 0) return Error::FromErrno("fork");
  if (pid == 0) {
    // Async-signal-safe calls only.
    constexpr rlimit kNoCore{0, 0};
    ::setrlimit(RLIMIT_CORE, &kNoCore);
    ::_exit(::unshare(CLONE_NEWNS) == 0 ? 0 : errno);
  }
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  const int error = WIFEXITED(status) ? WEXITSTATUS(status) : EPERM;
  return error == 0 ? Status() : Error::FromErrno("make a mount namespace", error);
}

}  // namespace

Status EnterOwnMounts() {
  POLYBOX_RETURN_IF_ERROR(TryUnshare());
  if (::unshare(CLONE_NEWNS) != 0) return Error::FromErrno("make a mount namespace");
  // Slave propagation: a file system that the host unmounts must not stay busy because of this
  // namespace.
  if (::mount("none", "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0) {
    return Error::FromErrno("keep mounts to ourselves");
  }
  return {};
}

Status MountMemory(const std::string& path, Bytes size, std::int64_t files) {
  // The root directory of the tmpfs takes one of the inodes.
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
