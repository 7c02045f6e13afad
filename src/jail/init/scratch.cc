#include <cerrno>
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <linux/openat2.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

#include "jail/init/slot.h"

namespace polybox::jail::init {
namespace {

/// Opens below `directory` without ever following a link out of it.
int OpenBeneath(int directory, const char* path, int flags, unsigned mode) {
  open_how how{};
  how.flags = static_cast<unsigned>(flags | O_CLOEXEC | O_NOFOLLOW);
  how.mode = mode;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  return static_cast<int>(::syscall(SYS_openat2, directory, path, &how, sizeof how));
}

int MakeParents(int directory, const std::string& name) {
  for (std::size_t slash = name.find('/'); slash != std::string::npos;
       slash = name.find('/', slash + 1)) {
    const std::string part = name.substr(0, slash);
    if (::mkdirat(directory, part.c_str(), 0755) != 0) {
      if (errno != EEXIST) return errno;
      continue;
    }
    if (::fchownat(directory, part.c_str(), kGuestId, kGuestId, AT_SYMLINK_NOFOLLOW) != 0) {
      return errno;
    }
  }
  return 0;
}

int CopyContent(int from, int to, std::uint64_t size) {
  while (size > 0) {
    const ssize_t count = ::sendfile(to, from, nullptr, size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    if (count == 0) return EIO;
    size -= static_cast<std::uint64_t>(count);
  }
  return 0;
}

int WriteLink(int directory, const FileHeader& file, int content) {
  std::string target(file.size, '\0');
  if (::read(content, target.data(), target.size()) != static_cast<ssize_t>(target.size())) {
    return EIO;
  }
  return ::symlinkat(target.c_str(), directory, file.name.c_str()) == 0 ? 0 : errno;
}

int WriteOne(int directory, const FileHeader& file, int content) {
  if (const int error = MakeParents(directory, file.name)) return error;
  if (S_ISLNK(file.mode)) return WriteLink(directory, file, content);
  const int fd = OpenBeneath(directory, file.name.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (fd < 0) return errno;
  int error = CopyContent(content, fd, file.size);
  if (error == 0 && ::fchown(fd, kGuestId, kGuestId) != 0) error = errno;
  if (error == 0 && ::fchmod(fd, file.mode) != 0) error = errno;
  ::close(fd);
  return error;
}

// More than this, or deeper, is quicker to throw away as a whole, and cannot be made slow by what a
// guest left.
constexpr std::uint64_t kFewEntries = 64;
constexpr int kDeepest = 16;

/// Removes what is in the directory `fd` (taken over). False when it is too deep or something would
/// not go.
bool RemoveContents(int fd, int depth) {
  DIR* stream = ::fdopendir(fd);
  if (stream == nullptr) {
    ::close(fd);
    return false;
  }
  bool gone = depth < kDeepest;
  while (gone) {
    const dirent* entry = ::readdir(stream);
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    if (::unlinkat(::dirfd(stream), entry->d_name, 0) == 0) continue;
    const int inner = OpenBeneath(::dirfd(stream), entry->d_name, O_RDONLY | O_DIRECTORY, 0);
    gone = inner >= 0 && RemoveContents(inner, depth + 1) &&
           ::unlinkat(::dirfd(stream), entry->d_name, AT_REMOVEDIR) == 0;
  }
  ::closedir(stream);
  return gone;
}

/// The guest owns the directory itself: its mode and attributes could carry a word to the next
/// guest.
bool IsUntouched(int fd, unsigned mode) {
  struct stat info{};
  return ::fstat(fd, &info) == 0 && (info.st_mode & 07777U) == mode && info.st_uid == kGuestId &&
         info.st_gid == kGuestId && ::flistxattr(fd, nullptr, 0) == 0;
}

bool WipeInPlace(const Operation& scratch, const std::string& path) {
  struct statfs info{};
  if (::statfs(path.c_str(), &info) != 0 || info.f_files - info.f_ffree > kFewEntries) return false;
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return false;
  if (IsUntouched(fd, scratch.mode)) return RemoveContents(fd, 0);
  ::close(fd);
  return false;
}

}  // namespace

StepResult WriteFiles(const Files& files, int content) {
  const int directory = ::open(files.directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return StepResult::Failure(Stage::kFiles, errno);
  StepResult result;
  for (std::size_t i = 0; i < files.files.size() && result.ok; ++i) {
    const int error = WriteOne(directory, files.files[i], content);
    if (error != 0) result = StepResult::Failure(Stage::kFiles, error, static_cast<int>(i));
  }
  ::close(directory);
  return result;
}

StepResult EmptyScratch(const std::vector<Operation>& scratch) {
  for (std::size_t i = 0; i < scratch.size(); ++i) {
    const std::string path = "/" + scratch[i].target;
    if (WipeInPlace(scratch[i], path)) continue;
    if (::umount2(path.c_str(), MNT_DETACH) != 0) {
      return StepResult::Failure(Stage::kWipe, errno, static_cast<int>(i));
    }
    if (const int error = MountTmpfs(scratch[i], path)) {
      return StepResult::Failure(Stage::kWipe, error, static_cast<int>(i));
    }
  }
  return {};
}

}  // namespace polybox::jail::init
