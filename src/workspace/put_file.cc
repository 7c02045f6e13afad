#include "workspace/put_file.h"

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <fcntl.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <linux/fs.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

#include "base/files.h"
#include "workspace/system_text.h"

namespace polybox::workspace {
namespace {

constexpr mode_t kNewDirectory = 0755;
constexpr mode_t kNewFile = 0644;
/// The set-uid and set-gid bits are not kept: the kernel drops them too when a file is written.
constexpr mode_t kKeptBits = 01777;
/// The kernel's own limit on the list of names and on a value.
constexpr std::size_t kLargestAttribute = 65536;

Error WriteError(std::string_view call, const std::string& shown, int system_errno) {
  Error error = CallError(call, shown, system_errno).In("write");
  return system_errno == EEXIST ? Error::FromErrno("write", EEXIST) : error;
}

/// A name that nobody can guess, so that no other process takes it first.
std::string TemporaryName() {
  std::uint64_t number = 0;
  // Fails only before the kernel's generator is ready; O_EXCL then still finds a name in use.
  std::ignore = ::getrandom(&number, sizeof number, GRND_NONBLOCK);
  return fmt::format(".polybox-write-{:016x}", number);
}

/// A file that has no name yet, or a temporary one where the file system needs a name. A server
/// that is killed while it writes a file without a name leaves nothing behind. The destructor
/// removes the file, unless it was put in place.
class Temporary {
 public:
  static Result<Temporary> Make(int directory, const std::string& shown) {
    Temporary made(directory);
    made.file_.reset(::openat(directory, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
    if (made.file_.valid()) return made;
    std::string name = TemporaryName();
    made.file_.reset(::openat(directory, name.c_str(),
                              O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!made.file_.valid()) return CallError("open", shown, errno).In("write");
    made.name_ = std::move(name);
    return made;
  }
  Temporary(Temporary&& other) noexcept
      : directory_(other.directory_),
        name_(std::exchange(other.name_, "")),
        file_(std::move(other.file_)) {}
  Temporary& operator=(Temporary&&) = delete;
  ~Temporary() {
    if (!name_.empty()) ::unlinkat(directory_, name_.c_str(), 0);
  }

  int file() const { return file_.get(); }

  Status Fill(const std::string& shown, std::string_view content, mode_t mode) {
    if (const Status written = WriteAll(file(), content); !written.ok()) {
      return WriteError("write", shown, written.error().system_errno());
    }
    if (::fchmod(file(), mode) != 0) return WriteError("chmod", shown, errno);
    if (::fsync(file()) != 0) return WriteError("fsync", shown, errno);
    return {};
  }

  /// Gives the file the name `name`. Fails with EEXIST if the name is in use.
  Status PutAsNew(const std::string& name, const std::string& shown) {
    if (Link(name) != 0) return WriteError("link", shown, errno);
    return {};
  }

  /// Gives the file the name `name`, in place of the file that has it.
  Status PutInPlaceOf(const std::string& name, const std::string& shown) {
    if (name_.empty()) {
      std::string temporary = TemporaryName();
      if (Link(temporary) != 0) return WriteError("link", shown, errno);
      name_ = std::move(temporary);
    }
    if (::renameat(directory_, name_.c_str(), directory_, name.c_str()) != 0) {
      return WriteError("rename", shown, errno);
    }
    name_.clear();
    return {};
  }

 private:
  explicit Temporary(int directory) : directory_(directory) {}

  /// Gives the file one more name. No link() replaces a file.
  int Link(const std::string& name) const {
    if (!name_.empty()) return ::linkat(directory_, name_.c_str(), directory_, name.c_str(), 0);
    const std::string open_file = fmt::format("/proc/self/fd/{}", file());
    return ::linkat(AT_FDCWD, open_file.c_str(), directory_, name.c_str(), AT_SYMLINK_FOLLOW);
  }

  int directory_;
  /// "" if the file has no name, or after it was put in place of another.
  std::string name_;
  UniqueFd file_;
};

/// Copies the attributes that belong to users, and the access list.
void CopyAttributes(int from, int to) {
  std::vector<char> names(kLargestAttribute);
  const ssize_t size = ::flistxattr(from, names.data(), names.size());
  if (size <= 0) return;
  std::vector<char> value(kLargestAttribute);
  for (ssize_t at = 0; at < size;) {
    const std::string name(names.data() + at);
    at += static_cast<ssize_t>(name.size()) + 1;
    if (!name.starts_with("user.") && name != "system.posix_acl_access") continue;
    const ssize_t length = ::fgetxattr(from, name.c_str(), value.data(), value.size());
    if (length >= 0) {
      std::ignore =
          ::fsetxattr(to, name.c_str(), value.data(), static_cast<std::size_t>(length), 0);
    }
  }
}

/// Returns the mode of a new file, as the process's umask would make it.
mode_t NewFileMode() {
  // The umask can only be read by setting it, which other threads would notice.
  static const mode_t mask = [] {
    const std::string status = ReadFile("/proc/self/status").value_or("");
    const std::size_t at = status.find("\nUmask:");
    unsigned value = 022;
    if (at != std::string::npos)
      std::ignore = std::sscanf(status.c_str() + at, "\nUmask: %o", &value);
    return static_cast<mode_t>(value);
  }();
  return kNewFile & ~mask;
}

mode_t WithBits(mode_t mode, ModeBits bits) {
  constexpr mode_t kExecute = S_IXUSR | S_IXGRP | S_IXOTH;
  if (bits == ModeBits::kPlain) return mode & ~kExecute;
  // The bit for executing stands two places after the one for reading.
  if (bits == ModeBits::kExecutable) return mode | ((mode >> 2U) & kExecute);
  return mode;
}

}  // namespace

Result<NewDirectories> NewDirectories::Make(const Place& place, const std::string& shown) {
  constexpr int kDirectory = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  NewDirectories made;
  made.levels_.emplace_back(::openat(place.parent.get(), ".", kDirectory));
  if (!made.levels_.back().valid()) return CallError("mkdir", shown, errno).In("mkdir");
  for (const std::string& name : place.missing) {
    const int outer = made.innermost();
    const bool is_new = ::mkdirat(outer, name.c_str(), kNewDirectory) == 0;
    if (!is_new && errno != EEXIST) return CallError("mkdir", shown, errno).In("mkdir");
    // A directory that another process has made in between must stay, and so must those around it.
    if (!is_new) made.Keep();
    if (is_new) made.names_.push_back(name);
    UniqueFd inner(::openat(outer, name.c_str(), kDirectory));
    if (!inner.valid()) return CallError("mkdir", shown, errno).In("mkdir");
    if (!is_new) made.levels_.clear();
    made.levels_.push_back(std::move(inner));
  }
  return made;
}

NewDirectories::~NewDirectories() {
  for (std::size_t i = names_.size(); i-- > 0;) {
    ::unlinkat(levels_[i].get(), names_[i].c_str(), AT_REMOVEDIR);
  }
}

Status CreateFile(const Place& place, const std::string& shown, std::string_view content,
                  const NewFile& options) {
  POLYBOX_ASSIGN_OR_RETURN(NewDirectories directories, NewDirectories::Make(place, shown));
  {
    POLYBOX_ASSIGN_OR_RETURN(Temporary file, Temporary::Make(directories.innermost(), shown));
    POLYBOX_RETURN_IF_ERROR(file.Fill(shown, content, WithBits(NewFileMode(), options.bits)));
    POLYBOX_RETURN_IF_ERROR(options.replace == OldEntry::kReplace
                                ? file.PutInPlaceOf(place.name, shown)
                                : file.PutAsNew(place.name, shown));
  }
  directories.Keep();
  return {};
}

Status PutLink(const Place& place, const std::string& shown, const std::string& target) {
  POLYBOX_ASSIGN_OR_RETURN(NewDirectories directories, NewDirectories::Make(place, shown));
  const int directory = directories.innermost();
  const std::string temporary = TemporaryName();
  if (::symlinkat(target.c_str(), directory, temporary.c_str()) != 0) {
    return WriteError("symlink", shown, errno);
  }
  if (::renameat(directory, temporary.c_str(), directory, place.name.c_str()) != 0) {
    const Error error = WriteError("rename", shown, errno);
    ::unlinkat(directory, temporary.c_str(), 0);
    return error;
  }
  directories.Keep();
  return {};
}

Status ReplaceContent(const Place& place, const std::string& shown, int existing,
                      std::string_view content, ModeBits bits) {
  struct stat info{};
  if (::fstat(existing, &info) != 0) return WriteError("stat", shown, errno);
  // Asks the kernel whether the caller may write the old file; rename() would not. A program that
  // runs may be replaced, so ETXTBSY does not matter.
  const Result<UniqueFd> writable = OpenAt(place, O_WRONLY);
  if (!writable.ok() && writable.error().system_errno() != ETXTBSY) {
    return WriteError("open", shown, writable.error().system_errno());
  }
  POLYBOX_ASSIGN_OR_RETURN(Temporary file, Temporary::Make(place.parent.get(), shown));
  struct stat fresh{};
  if (::fstat(file.file(), &fresh) != 0) return WriteError("stat", shown, errno);
  const bool same_owner = fresh.st_uid == info.st_uid && fresh.st_gid == info.st_gid;
  if (!same_owner && ::fchown(file.file(), info.st_uid, info.st_gid) != 0) {
    return WriteError("chown", shown, errno);
  }
  CopyAttributes(existing, file.file());
  POLYBOX_RETURN_IF_ERROR(file.Fill(shown, content, WithBits(info.st_mode & kKeptBits, bits)));
  return file.PutInPlaceOf(place.name, shown);
}

Status MoveEntry(const Place& from, int directory, const std::string& name) {
  const auto rename = [&](unsigned flags) {
    return ::syscall(SYS_renameat2, from.parent.get(), from.name.c_str(), directory, name.c_str(),
                     flags);
  };
  if (rename(RENAME_NOREPLACE) == 0) return {};
  if (errno != EINVAL && errno != ENOSYS) return Error::FromErrno("rename");
  // The file system cannot refuse to replace an entry. EINVAL also means that a directory would be
  // moved into itself; the second call reports that.
  struct stat info{};
  const bool exists = ::fstatat(directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
  if (exists) return Error::FromErrno("rename", EEXIST);
  return rename(0) == 0 ? Status() : Status(Error::FromErrno("rename"));
}

}  // namespace polybox::workspace
