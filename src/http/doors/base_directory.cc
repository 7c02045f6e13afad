#include "http/doors/base_directory.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <unistd.h>

#include <fmt/format.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "base/files.h"
#include "sys/open_below.h"
#include "sys/own_mounts.h"

namespace polybox::http {
namespace {

/// An open never waits (for a FIFO), and an opened terminal never becomes the server's controlling
/// terminal.
constexpr unsigned kSafely = O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

Error Denied() {
  return {ErrorKind::kInvalid, "the path leads out of the base directory"};
}

Error NotFound() {
  return {ErrorKind::kNotFound, "there is no such file"};
}

Error ToError(int code) {
  switch (code) {
    case EXDEV:  // the path left the base directory
    case ELOOP:
      return Denied();
    case ENOENT:
    case ENOTDIR:
    case ENAMETOOLONG:
      return NotFound();
    default:
      return Error::FromErrno("open", code);
  }
}

/// Returns the components without "." and with ".." resolved: the meaning of the path where it has
/// no links.
Result<std::vector<std::string>> Components(std::string_view path) {
  if (path.find('\0') != std::string_view::npos) return Denied();
  std::vector<std::string> components;
  while (!path.empty()) {
    const std::string_view component = path.substr(0, path.find('/'));
    path.remove_prefix(std::min(path.size(), component.size() + 1));
    if (component.empty() || component == ".") continue;
    if (component != "..") {
      components.emplace_back(component);
    } else if (components.empty()) {
      return Denied();
    } else {
      components.pop_back();
    }
  }
  return components;
}

/// Returns the path for the kernel, which follows links before it resolves "..".
Result<std::string> Relative(std::string_view path) {
  POLYBOX_RETURN_IF_ERROR(Components(path));
  path.remove_prefix(std::min(path.find_first_not_of('/'), path.size()));
  return path.empty() ? "." : std::string(path);
}

std::string TemporaryName() {
  static std::atomic<unsigned> counter = 0;
  return fmt::format(".polybox-upload-{}-{}", ::getpid(), counter++);
}

struct CloseDirectory {
  void operator()(DIR* directory) const { ::closedir(directory); }
};

}  // namespace

Result<BaseDirectory> BaseDirectory::Open(const std::string& path) {
  std::string chosen = path;
  std::optional<jail::ScratchHome> home;
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0 && errno == ENOENT) {
    auto made = jail::ScratchHome::MakeForBase();
    if (!made.ok()) {
      return std::move(made)
          .error()
          .In("make a base directory")
          .WithFix(
              "name one in which polybox may write with --base-dir, or another place for temporary "
              "files with TMPDIR");
    }
    home.emplace(std::move(made).value());
    chosen = home->base_path();
  }
  auto fd = OpenFile(chosen, O_PATH | O_DIRECTORY);
  if (!fd.ok()) return std::move(fd).error().In("open the base directory");
  return BaseDirectory(std::move(chosen), std::move(fd).value(), std::move(home));
}

BaseDirectory::~BaseDirectory() {
  // The ScratchHome removes the directory below the mount.
  if (mounted_ && fd_.valid()) ::umount2(path_.c_str(), MNT_DETACH);
}

// The tmpfs is mounted over the directory, so fd_ is opened again to refer to the tmpfs.
Status BaseDirectory::KeepWithin(const exec::SpaceLimits& limits) {
  if (!home_) {
    POLYBOX_ASSIGN_OR_RETURN(const sys::FileSystemSize own, sys::OwnFileSystem(fd_.get()));
    const bool small =
        own.bytes <= limits.bytes && own.files <= static_cast<std::uint64_t>(limits.files);
    return small ? Status() : Error(ErrorKind::kUnavailable, "its file system is larger");
  }
  POLYBOX_RETURN_IF_ERROR(sys::EnterOwnMounts());
  POLYBOX_RETURN_IF_ERROR(sys::MountMemory(path_, limits.bytes, limits.files));
  mounted_ = true;
  POLYBOX_ASSIGN_OR_RETURN(fd_, OpenFile(path_, O_PATH | O_DIRECTORY));
  return {};
}

void BaseDirectory::SetOwner(unsigned uid) {
  // Files of this process already belong to `uid`, and chown() to a group that is not the process's
  // own would fail.
  if (uid != ::geteuid()) owner_ = uid;
}

Result<std::string> BaseDirectory::Read(std::string_view path, Bytes largest) const {
  POLYBOX_ASSIGN_OR_RETURN(const std::string relative, Relative(path));
  POLYBOX_ASSIGN_OR_RETURN(const UniqueFd file, OpenBeneath(relative, O_RDONLY));
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return Error::FromErrno("look at the file");
  if (!S_ISREG(status.st_mode)) return NotFound();
  auto content = ReadAll(file.get(), largest);
  if (content.ok() || content.error().kind() != ErrorKind::kInvalid) return content;
  return Error(ErrorKind::kUnavailable, fmt::format("larger than {}", FormatBytes(largest)));
}

Status BaseDirectory::Write(std::string_view path, std::string_view content) const {
  POLYBOX_ASSIGN_OR_RETURN(std::vector<std::string> components, Components(path));
  if (components.empty() || path.ends_with('/')) {
    return Error(ErrorKind::kSystem, "the path is a directory");
  }
  const std::string name = std::move(components.back());
  components.pop_back();
  POLYBOX_ASSIGN_OR_RETURN(const UniqueFd parent, MakeParents(components));
  const std::string temporary = TemporaryName();
  const UniqueFd file(::openat(parent.get(), temporary.c_str(),
                               O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (!file.valid()) return Error::FromErrno("make the file");
  Status written = WriteAll(file.get(), content);
  if (owner_ && ::fchown(file.get(), *owner_, *owner_) != 0 && written.ok()) {
    written = Error::FromErrno("hand over the file");
  }
  if (written.ok() &&
      ::renameat(parent.get(), temporary.c_str(), parent.get(), name.c_str()) != 0) {
    written = Error::FromErrno("put the file in place");
  }
  if (!written.ok()) ::unlinkat(parent.get(), temporary.c_str(), 0);
  return written;
}

Result<std::vector<BaseDirectory::Entry>> BaseDirectory::List(std::string_view path,
                                                              std::size_t most) const {
  POLYBOX_ASSIGN_OR_RETURN(const std::string relative, Relative(path));
  POLYBOX_ASSIGN_OR_RETURN(UniqueFd folder, OpenBeneath(relative, O_RDONLY | O_DIRECTORY));
  const std::unique_ptr<DIR, CloseDirectory> directory(::fdopendir(folder.get()));
  if (directory == nullptr) return Error::FromErrno("list the directory");
  const int fd = folder.release();  // the stream closes it
  std::vector<Entry> entries;
  while (const dirent* found = ::readdir(directory.get())) {
    const std::string name = static_cast<const char*>(found->d_name);
    if (name == "." || name == "..") continue;
    if (entries.size() == most) {
      return Error(ErrorKind::kUnavailable, fmt::format("more than {} entries", most));
    }
    entries.push_back(Describe(fd, relative, name));
  }
  std::ranges::sort(entries, {}, &Entry::name);
  return entries;
}

Result<bool> BaseDirectory::Exists(std::string_view path) const {
  POLYBOX_ASSIGN_OR_RETURN(const std::string relative, Relative(path));
  const auto found = OpenBeneath(relative, O_PATH);
  if (found.ok()) return true;
  if (found.error().kind() == ErrorKind::kNotFound) return false;
  return found.error();
}

Result<UniqueFd> BaseDirectory::OpenBeneath(const std::string& path, unsigned flags) const {
  open_how how{};
  // O_PATH allows no other flags but these.
  how.flags = (flags & O_PATH) != 0 ? flags | O_CLOEXEC : flags | kSafely;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  // The kernel returns EAGAIN when a directory was renamed during the lookup.
  for (int attempt = 0; attempt < 10; ++attempt) {
    UniqueFd file(sys::OpenBelow(fd_.get(), path.c_str(), how));
    if (file.valid()) return file;
    if (errno != EAGAIN && errno != EINTR) break;
  }
  return ToError(errno);
}

Result<UniqueFd> BaseDirectory::MakeParents(const std::vector<std::string>& components) const {
  POLYBOX_ASSIGN_OR_RETURN(UniqueFd folder, OpenBeneath(".", O_PATH | O_DIRECTORY));
  std::string path;
  for (const std::string& component : components) {
    path += path.empty() ? component : "/" + component;
    const bool made = ::mkdirat(folder.get(), component.c_str(), 0755) == 0;
    if (!made && errno != EEXIST) return Error::FromErrno("make a directory");
    if (made && owner_ &&
        ::fchownat(folder.get(), component.c_str(), *owner_, *owner_, AT_SYMLINK_NOFOLLOW) != 0) {
      return Error::FromErrno("hand over a directory");
    }
    auto next = OpenBeneath(path, O_PATH | O_DIRECTORY);
    if (!next.ok()) {
      if (next.error().kind() != ErrorKind::kNotFound) return std::move(next).error();
      return Error(ErrorKind::kSystem, fmt::format("\"{}\" is not a directory", path));
    }
    folder = std::move(next).value();
  }
  return folder;
}

BaseDirectory::Entry BaseDirectory::Describe(int directory, const std::string& folder,
                                             const std::string& name) const {
  struct stat status{};
  ::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW);
  if (S_ISLNK(status.st_mode)) {
    // Describes the target of the link, unless the target is outside the base directory.
    const auto target = OpenBeneath(fmt::format("{}/{}", folder, name), O_PATH);
    if (target.ok()) ::fstat(target->get(), &status);
  }
  const double modified = static_cast<double>(status.st_mtim.tv_sec) +
                          static_cast<double>(status.st_mtim.tv_nsec) / 1e9;
  return {name, status.st_size, S_ISDIR(status.st_mode), modified};
}

}  // namespace polybox::http
