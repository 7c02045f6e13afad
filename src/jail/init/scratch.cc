#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <unistd.h>

#include <linux/openat2.h>
#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>

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

/// Opens the directory that `name` is in, making what is missing; `name` becomes its last part. -1
/// and errno on failure.
int OpenParent(int directory, std::string& name) {
  int parent = ::fcntl(directory, F_DUPFD_CLOEXEC, 0);
  for (std::size_t slash = name.find('/'); parent >= 0 && slash != std::string::npos;
       slash = name.find('/')) {
    const std::string part = name.substr(0, slash);
    name.erase(0, slash + 1);
    if (part.empty()) continue;
    const bool made = ::mkdirat(parent, part.c_str(), 0755) == 0;
    // A link that an earlier guest of the session left there is refused here, and never followed.
    int inner = OpenBeneath(parent, part.c_str(), O_RDONLY | O_DIRECTORY, 0);
    if (inner >= 0 && made && ::fchown(inner, guest_ids.uid, guest_ids.gid) != 0) {
      ::close(inner);
      inner = -1;
    }
    const int error = errno;
    ::close(parent);
    errno = error;
    parent = inner;
  }
  return parent;
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

int WriteLink(int parent, const std::string& name, std::uint64_t size, int content) {
  std::string target(size, '\0');
  if (::read(content, target.data(), target.size()) != static_cast<ssize_t>(target.size())) {
    return EIO;
  }
  return ::symlinkat(target.c_str(), parent, name.c_str()) == 0 ? 0 : errno;
}

/// A new file, whatever an earlier guest of the session left under that name: a pipe there could
/// hold us for ever.
int WriteRegular(int parent, const std::string& name, const FileHeader& file, int content) {
  const int fd = OpenBeneath(parent, name.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0600);
  if (fd < 0) return errno;
  int error = CopyContent(content, fd, file.size);
  if (error == 0 && ::fchown(fd, guest_ids.uid, guest_ids.gid) != 0) error = errno;
  if (error == 0 && ::fchmod(fd, file.mode) != 0) error = errno;
  ::close(fd);
  return error;
}

/// An empty one, or the one that is there.
int MakeDirectory(int parent, const std::string& name) {
  if (::mkdirat(parent, name.c_str(), 0755) != 0 && errno != EEXIST) return errno;
  const int fd = OpenBeneath(parent, name.c_str(), O_RDONLY | O_DIRECTORY, 0);
  if (fd < 0) return errno;
  const int error = ::fchown(fd, guest_ids.uid, guest_ids.gid) == 0 ? 0 : errno;
  ::close(fd);
  return error;
}

int WriteOne(int directory, const FileHeader& file, int content) {
  std::string name = file.name;
  const int parent = OpenParent(directory, name);
  if (parent < 0) return errno;
  ::unlinkat(parent, name.c_str(), 0);
  int error = 0;
  if (S_ISLNK(file.mode)) {
    error = WriteLink(parent, name, file.size, content);
  } else if (S_ISDIR(file.mode)) {
    error = MakeDirectory(parent, name);
  } else {
    error = WriteRegular(parent, name, file, content);
  }
  ::close(parent);
  return error;
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

int OpenWorkDirectory(const std::string& directory, const std::string& name) {
  const int work = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (work < 0) return -1;
  const int inner = OpenBeneath(work, name.empty() ? "." : name.c_str(), O_RDONLY | O_DIRECTORY, 0);
  const int error = errno;
  ::close(work);
  errno = error;
  return inner;
}

void RememberScratch(std::vector<Scratch>& all) {
  if (!all.empty()) LearnWhetherEveryChangeShows(all[0].path());
  for (Scratch& scratch : all) scratch.trace = LookAt(scratch.path());
}

void DistrustNewScratch(std::vector<Scratch>& all) {
  for (Scratch& scratch : all) Distrust(scratch.trace);
}

void DistrustScratch(std::vector<Scratch>& all) {
  for (Scratch& scratch : all) scratch.trace = {};
}

StepResult EmptyScratch(std::vector<Scratch>& all) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    Scratch& scratch = all[i];
    if (IsUntouched(scratch) || TakeFillingAway(scratch)) continue;
    const std::string path = scratch.path();
    // Thrown away as a whole: how much there is, and how deep, cannot make it slow, and no mode,
    // attribute or counter of the directory carries a word to the next guest.
    if (::umount2(path.c_str(), MNT_DETACH) != 0) {
      return StepResult::Failure(Stage::kWipe, errno, static_cast<int>(i));
    }
    if (const int error = MountTmpfs(scratch.operation, path)) {
      return StepResult::Failure(Stage::kWipe, error, static_cast<int>(i));
    }
    ++scratch.mounts;
    scratch.trace = LookAt(path);
    scratch.files.clear();
  }
  return {};
}

StepResult ResizeScratch(std::vector<Scratch>& all, const Resize& size) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    Operation& operation = all[i].operation;
    const bool sized = operation.target == "sandbox" || operation.target == "tmp";
    if (!sized) continue;
    operation.bytes = size.bytes;
    operation.inodes = size.inodes;
    char options[64];
    std::snprintf(options, sizeof options, "size=%llu,nr_inodes=%llu",
                  static_cast<unsigned long long>(operation.bytes),
                  static_cast<unsigned long long>(operation.inodes));
    const std::string path = all[i].path();
    if (::mount(nullptr, path.c_str(), nullptr, MS_REMOUNT | operation.flags, options) != 0 &&
        errno != EINVAL) {
      return StepResult::Failure(Stage::kWipe, errno, static_cast<int>(i));
    }
  }
  return {};
}

}  // namespace polybox::jail::init
