#include "sys/copy_tree.h"

#include <algorithm>
#include <fcntl.h>
#include <string>
#include <unistd.h>

#include <fmt/format.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include "sys/guest_tree.h"

namespace polybox::sys {
namespace {

Error Unfit(const std::string& path, std::string_view why) {
  return {ErrorKind::kInvalid, fmt::format("{}: {}", path, why)};
}

/// Copies the entries of a walk, in the walk's order: a directory is made before its entries.
class Copier {
 public:
  Copier(int to, const CopyLimits& limits) : to_(to), limits_(limits) {}

  Status Take(const TreeEntry& entry) {
    ++copied_.entries;
    if (S_ISDIR(entry.info.st_mode)) return MakeDirectory(entry);
    if (S_ISLNK(entry.info.st_mode)) return CopyLink(entry);
    if (S_ISREG(entry.info.st_mode)) return CopyFile(entry);
    return Unfit(entry.path, "neither a file, a directory nor a link");
  }

  Copied copied() const { return copied_; }

 private:
  Status MakeDirectory(const TreeEntry& entry) const {
    if (::mkdirat(to_, entry.path.c_str(), 0755) == 0) return {};
    return Error::FromErrno("make " + entry.path);
  }

  Status CopyLink(const TreeEntry& entry) const {
    std::string target(4096, '\0');
    const ssize_t length =
        ::readlinkat(entry.directory, entry.name.c_str(), target.data(), target.size());
    if (length < 0) return Error::FromErrno("read the link " + entry.path);
    target.resize(static_cast<std::size_t>(length));
    if (!LinkStaysInside(entry.path, target)) return Unfit(entry.path, "a link that leads outside");
    if (::symlinkat(target.c_str(), to_, entry.path.c_str()) == 0) return {};
    return Error::FromErrno("make the link " + entry.path);
  }

  Status CopyFile(const TreeEntry& entry) {
    const auto size = static_cast<std::uint64_t>(entry.info.st_size);
    if (size > limits_.bytes.count() - copied_.bytes.count()) {
      return Unfit(entry.path, fmt::format("more than {} in all", FormatBytes(limits_.bytes)));
    }
    // The type is checked again on the open descriptor, because a name can change after the first
    // check.
    POLYBOX_ASSIGN_OR_RETURN(const UniqueFd source,
                             OpenBeneath(entry.directory, entry.name, O_RDONLY));
    struct stat info{};
    if (::fstat(source.get(), &info) != 0 || !S_ISREG(info.st_mode)) {
      return Unfit(entry.path, "changed while it was read");
    }
    const bool executable = (entry.info.st_mode & S_IXUSR) != 0;
    POLYBOX_ASSIGN_OR_RETURN(
        const UniqueFd copy,
        OpenBeneath(to_, entry.path, O_WRONLY | O_CREAT | O_EXCL, executable ? 0755 : 0644));
    POLYBOX_RETURN_IF_ERROR(CopyContent(source.get(), copy.get(), size).In("copy " + entry.path));
    copied_.bytes = Bytes(copied_.bytes.count() + size);
    return {};
  }

  /// Copies at most `size` bytes, the size that was counted against the limit.
  static Status CopyContent(int from, int to, std::uint64_t size) {
    while (size > 0) {
      const ssize_t count = ::sendfile(to, from, nullptr, size);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return Error::FromErrno("write");
      if (count == 0) return {};
      size -= static_cast<std::uint64_t>(count);
    }
    return {};
  }

  int to_;
  const CopyLimits& limits_;
  Copied copied_;
};

}  // namespace

bool LinkStaysInside(std::string_view path, std::string_view target) {
  if (target.empty() || target.starts_with('/')) return false;
  auto depth = std::ranges::count(path, '/');
  bool went_down = false;
  for (std::size_t at = 0; at < target.size();) {
    const std::size_t end = std::min(target.find('/', at), target.size());
    const std::string_view part = target.substr(at, end - at);
    at = end + 1;
    if (part.empty() || part == ".") continue;
    if (part != "..") went_down = true;
    if (part != "..") continue;
    // ".." is accepted only at the beginning of the target. After a component that may be another
    // link, the parent could be any directory.
    if (went_down || depth == 0) return false;
    --depth;
  }
  return true;
}

Result<Copied> CopyGuestTree(int from, int to, const CopyLimits& limits) {
  Copier copier(to, limits);
  const TreeVisitor visitor = {
      .entry = [&](const TreeEntry& entry) { return copier.Take(entry); },
      .skipped = [](const std::string& path, std::string_view why) -> Status {
        return Unfit(path, why);
      }};
  POLYBOX_RETURN_IF_ERROR(
      WalkGuestTree(from, {.depth = limits.depth, .entries = limits.entries}, visitor));
  return copier.copied();
}

}  // namespace polybox::sys
