#include "jail/init/root.h"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <unistd.h>

#include <linux/mount.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "jail/init/egress.h"
#include "jail/init/ids.h"
#include "jail/init/network.h"
#include "jail/init/step_result.h"
#include "jail/init/trees.h"

namespace polybox::jail::init {
namespace {

int WriteSmallFile(const Operation& operation) {
  if (const int error = MakeParent(operation.target)) return error;
  const UniqueFd file(
      ::open(operation.target.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!file.valid()) return errno;
  const int error = OrErrno(::write(file.get(), operation.source.data(), operation.source.size()));
  ::fchmod(file.get(), operation.mode);
  return error;
}

/// Writes a file with the content of descriptor `source` (borrowed).
int CopyFile(const Operation& operation, int source) {
  if (const int error = MakeParent(operation.target)) return error;
  const UniqueFd file(
      ::open(operation.target.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!file.valid()) return errno;
  off_t from = 0;
  ssize_t copied = 0;
  do {
    constexpr std::size_t kPiece = 1 << 20;
    copied = ::sendfile(file.get(), source, &from, kPiece);
  } while (copied > 0);
  const int error = OrErrno(copied);
  ::fchmod(file.get(), operation.mode);
  return error;
}

/// Starts the new root. The mounts of this namespace are made private first, so that no later mount
/// reaches the host.
int MakeRoot(const Operation& operation, UniqueFd& stage) {
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return errno;
  if (const int error = OpenStage(stage)) return error;
  // The host's /proc is still needed (see kKeepProc), so it is opened before it is covered.
  char options[64];
  std::snprintf(options, sizeof options, "mode=755,size=%llu,nr_inodes=%llu",
                static_cast<unsigned long long>(operation.bytes),
                static_cast<unsigned long long>(operation.inodes));
  if (::mount("polybox", kAssembly, "tmpfs", MS_NOSUID | MS_NODEV, options) != 0) return errno;
  return OrErrno(::chdir(kAssembly));
}

/// Keeps the host's /proc mounted in a place that is covered at once. The kernel allows a new /proc
/// only in a mount namespace that has a fully visible /proc already.
int KeepProc(const Operation& operation, int host_proc) {
  if (const int error = MakeDirectories(operation.target)) return error;
  if (::syscall(SYS_move_mount, host_proc, "", AT_FDCWD, operation.target.c_str(),
                MOVE_MOUNT_F_EMPTY_PATH) != 0) {
    return errno;
  }
  return OrErrno(::mount("polybox", operation.target.c_str(), "tmpfs",
                         MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY, "size=4k,mode=000"));
}

/// Makes the new root `/`. The old root is stacked on it and unmounted, with everything below it.
int Pivot() {
  if (::syscall(SYS_pivot_root, ".", ".") != 0) return errno;
  if (::umount2(".", MNT_DETACH) != 0) return errno;
  return OrErrno(::chdir("/"));
}

/// Mounts an instance of devpts, whose terminals no process outside of the slot can open.
int MountTerminals(const Operation& operation) {
  if (const int error = MakeDirectories(operation.target)) return error;
  // The host has a few thousand terminals for everybody; programs need a handful.
  constexpr const char* kOptions = "newinstance,ptmxmode=0666,mode=0620,max=64";
  return OrErrno(::mount("polybox", operation.target.c_str(), "devpts", operation.flags, kOptions));
}

/// Executes one operation. Returns 0 or an errno. `shared` becomes the reason when the slot shares
/// something with the host.
int Execute(const Operation& operation, Sources& sources, int& shared) {
  switch (operation.kind) {
    case OperationKind::kRoot:
      return MakeRoot(operation, sources.stage);
    case OperationKind::kDirectory:
      return MakeDirectories(operation.target);
    case OperationKind::kSymlink:
      if (const int error = MakeParent(operation.target)) return error;
      return OrErrno(::symlink(operation.source.c_str(), operation.target.c_str()));
    case OperationKind::kFile:
      return WriteSmallFile(operation);
    case OperationKind::kBind:
      return ShowTree(operation, sources, shared);
    case OperationKind::kTmpfs:
      if (const int error = MakeDirectories(operation.target)) return error;
      return MountTmpfs(operation, operation.target);
    case OperationKind::kKeepProc:
      return KeepProc(operation, sources.host_proc);
    case OperationKind::kPivot:
      return Pivot();
    case OperationKind::kReadOnlyRoot:
      return OrErrno(::mount(nullptr, "/", nullptr,
                             MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, nullptr));
    case OperationKind::kHostName:
      // The seccomp profile of a container may refuse the call. The guest then sees the host's
      // name.
      shared = OrErrno(::sethostname(operation.source.data(), operation.source.size()));
      return 0;
    case OperationKind::kEgress:
      return sources.network.OpenEgress();
    case OperationKind::kStage:
      return StageTree(operation, sources);
    case OperationKind::kCopy:
      return CopyFile(operation, sources.trees[static_cast<std::size_t>(operation.tree)]);
    case OperationKind::kLoopback:
      return RaiseLoopback();
    case OperationKind::kTerminals:
      // An outer jail may refuse the mount. Processes then run without terminals.
      shared = MountTerminals(operation);
      return 0;
  }
  return ENOSYS;
}

}  // namespace

int OrErrno(long result) {
  return result < 0 ? errno : 0;
}

int MakeDirectories(const std::string& path) {
  for (std::size_t slash = path.find('/');; slash = path.find('/', slash + 1)) {
    const std::string part = path.substr(0, slash);
    if (!part.empty() && ::mkdir(part.c_str(), 0755) != 0 && errno != EEXIST) return errno;
    if (slash == std::string::npos) return 0;
  }
}

int MakeParent(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? 0 : MakeDirectories(path.substr(0, slash));
}

int MountTmpfs(const Operation& operation, const std::string& target) {
  char options[128];
  std::snprintf(options, sizeof options, "mode=%o,uid=%u,gid=%u,size=%llu,nr_inodes=%llu",
                operation.mode, kGuestId, kGuestId,
                static_cast<unsigned long long>(operation.bytes),
                static_cast<unsigned long long>(operation.inodes));
  return OrErrno(::mount("polybox", target.c_str(), "tmpfs", operation.flags, options));
}

StepResult BuildRoot(const Setup& setup, std::span<const int> trees, Network& network,
                     Built& built) {
  const std::vector<Operation>& operations = setup.operations;
  const UniqueFd host_proc(static_cast<int>(::syscall(
      SYS_open_tree, AT_FDCWD, "/proc", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE)));
  if (!host_proc.valid()) return StepResult::Failure(Stage::kNamespaces, errno);
  Sources sources = {.trees = trees, .host_proc = host_proc.get(), .network = network};
  StepResult result;
  for (std::size_t i = 0; i < operations.size() && result.ok; ++i) {
    const bool spoiled = static_cast<int>(i) == setup.fail_at;
    int shared = 0;
    const int error = spoiled ? EIO : Execute(operations[i], sources, shared);
    if (shared != 0) built.shared.push_back({static_cast<int>(i), shared});
    if (error != 0) result = StepResult::Failure(Stage::kOperation, error, static_cast<int>(i));
  }
  return result;
}

}  // namespace polybox::jail::init
