#include "jail/init/scratch.h"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

#include <sys/mount.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include "base/unique_fd.h"
#include "jail/init/filling.h"
#include "jail/init/ids.h"
#include "jail/init/root.h"
#include "jail/init/step_result.h"
#include "jail/init/trace.h"
#include "sys/open_below.h"

namespace polybox::jail::init {
namespace {

/// Opens a path below `directory` and never follows a link out of it.
int OpenBeneath(int directory, const char* path, int flags, unsigned mode) {
  open_how how{};
  how.flags = static_cast<unsigned>(flags | O_CLOEXEC | O_NOFOLLOW);
  how.mode = mode;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  return sys::OpenBelow(directory, path, how);
}

/// Opens the directory that `name` is in, and makes missing ones; `name` becomes its last
/// component. Returns 0 or an errno.
int OpenParent(int directory, std::string& name, UniqueFd& parent) {
  parent.reset(::fcntl(directory, F_DUPFD_CLOEXEC, 0));
  if (!parent.valid()) return errno;
  for (std::size_t slash = name.find('/'); slash != std::string::npos; slash = name.find('/')) {
    const std::string part = name.substr(0, slash);
    name.erase(0, slash + 1);
    if (part.empty()) continue;
    const bool made = ::mkdirat(parent.get(), part.c_str(), 0755) == 0;
    // OpenBeneath() refuses a link that an earlier guest of the session left there.
    UniqueFd inner(OpenBeneath(parent.get(), part.c_str(), O_RDONLY | O_DIRECTORY, 0));
    if (!inner.valid()) return errno;
    if (made && ::fchown(inner.get(), GuestIds().uid, GuestIds().gid) != 0) return errno;
    parent = std::move(inner);
  }
  return 0;
}

/// Copies `size` bytes from the present offset of `from`. Returns 0 or an errno.
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

/// Makes a new file, whatever an earlier guest of the session left under that name. A FIFO of that
/// name could block the slot init for ever.
int WriteRegular(int parent, const std::string& name, const FileHeader& file, int content) {
  const UniqueFd fd(OpenBeneath(parent, name.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0600));
  if (!fd.valid()) return errno;
  if (const int error = CopyContent(content, fd.get(), file.size)) return error;
  if (::fchown(fd.get(), GuestIds().uid, GuestIds().gid) != 0) return errno;
  return ::fchmod(fd.get(), file.mode) == 0 ? 0 : errno;
}

/// Makes an empty directory, or keeps the existing one.
int MakeDirectory(int parent, const std::string& name) {
  if (::mkdirat(parent, name.c_str(), 0755) != 0 && errno != EEXIST) return errno;
  const UniqueFd fd(OpenBeneath(parent, name.c_str(), O_RDONLY | O_DIRECTORY, 0));
  if (!fd.valid()) return errno;
  return ::fchown(fd.get(), GuestIds().uid, GuestIds().gid) == 0 ? 0 : errno;
}

/// Writes one file, link or directory. Every path component is opened without following links,
/// since an earlier guest of the session may have made it. Returns 0 or an errno.
int WriteOne(int directory, const FileHeader& file, int content) {
  std::string name = file.name;
  UniqueFd parent;
  if (const int error = OpenParent(directory, name, parent)) return error;
  ::unlinkat(parent.get(), name.c_str(), 0);
  if (S_ISLNK(file.mode)) return WriteLink(parent.get(), name, file.size, content);
  if (S_ISDIR(file.mode)) return MakeDirectory(parent.get(), name);
  return WriteRegular(parent.get(), name, file, content);
}

}  // namespace

StepResult WriteFiles(const Files& files, int content) {
  const UniqueFd directory(::open(files.directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.valid()) return StepResult::Failure(Stage::kFiles, errno);
  StepResult result;
  for (std::size_t i = 0; i < files.files.size() && result.ok; ++i) {
    const int error = WriteOne(directory.get(), files.files[i], content);
    if (error != 0) result = StepResult::Failure(Stage::kFiles, error, static_cast<int>(i));
  }
  return result;
}

UniqueFd OpenWorkDirectory(const std::string& directory, const std::string& name) {
  UniqueFd work(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!work.valid()) return work;
  UniqueFd inner(
      OpenBeneath(work.get(), name.empty() ? "." : name.c_str(), O_RDONLY | O_DIRECTORY, 0));
  const int error = errno;
  work.reset();
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

StepResult EmptyScratch(std::vector<Scratch>& all, const Reuse& reuse) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    Scratch& scratch = all[i];
    const auto is_as_new = [&] { return IsUntouched(scratch) || TakeFillingAway(scratch); };
    if (reuse.OfScratch(is_as_new)) continue;
    const std::string path = scratch.path();
    // The file system is replaced as a whole. So the amount and depth of its content cannot make
    // this slow. No mode, attribute or counter of the directory can carry a message to the next
    // guest.
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
