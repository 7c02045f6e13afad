#include "sys/guest_tree.h"

#include <algorithm>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <system_error>
#include <unistd.h>
#include <vector>

#include <sys/syscall.h>

#include "sys/open_below.h"

namespace polybox::sys {
namespace {

class Walk {
 public:
  Walk(const WalkLimits& limits, const TreeVisitor& visitor) : limits_(limits), visitor_(visitor) {}

  /// Walks one directory. `path` is "" for the directory in which the walk began.
  Status Directory(int directory, const std::string& path, int depth) {
    std::vector<std::string> names;
    POLYBOX_RETURN_IF_ERROR(List(directory, path, names));
    for (const std::string& name : names) {
      const std::string inner = path.empty() ? name : path + "/" + name;
      POLYBOX_RETURN_IF_ERROR(Entry(directory, name, inner, depth));
    }
    return {};
  }

 private:
  Status Entry(int directory, const std::string& name, const std::string& path, int depth) {
    struct stat info{};
    if (::fstatat(directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
      return visitor_.skipped(path, std::generic_category().message(errno));
    }
    POLYBOX_RETURN_IF_ERROR(visitor_.entry({path, directory, name, info}));
    if (!S_ISDIR(info.st_mode)) return {};
    if (visitor_.enters && !visitor_.enters({path, directory, name, info})) return {};
    if (depth >= limits_.depth) return visitor_.skipped(path, "too deep");
    const Result<UniqueFd> inner = OpenBeneath(directory, name, O_RDONLY | O_DIRECTORY);
    if (!inner.ok()) {
      return visitor_.skipped(path, std::generic_category().message(inner.error().system_errno()));
    }
    return Directory(inner->get(), path, depth + 1);
  }

  /// Appends the names in a directory, sorted, until `limits_.entries` is reached.
  Status List(int directory, const std::string& path, std::vector<std::string>& names) {
    // A separate descriptor, because reading a directory moves its position and closedir() closes
    // the descriptor.
    UniqueFd own(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!own.valid()) return visitor_.skipped(path, std::generic_category().message(errno));
    const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(own.get()), ::closedir);
    if (!stream) return Error::FromErrno("read a directory");
    std::ignore = own.release();
    bool too_many = false;
    for (const dirent* entry = ::readdir(stream.get()); entry != nullptr && !too_many;
         entry = ::readdir(stream.get())) {
      const std::string_view name = entry->d_name;
      if (name == "." || name == "..") continue;
      too_many = seen_ >= limits_.entries;
      if (!too_many) names.emplace_back(name);
      if (!too_many) ++seen_;
    }
    std::ranges::sort(names);
    return too_many ? visitor_.skipped(path.empty() ? "." : path, "too many files") : Status();
  }

  const WalkLimits& limits_;
  const TreeVisitor& visitor_;
  std::size_t seen_ = 0;
};

}  // namespace

Result<UniqueFd> OpenBeneath(int directory, const std::string& path, int flags, unsigned mode) {
  open_how how{};
  how.flags = static_cast<unsigned>(flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  how.mode = mode;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV;
  UniqueFd fd(OpenBelow(directory, path.c_str(), how));
  if (!fd.valid()) return Error::FromErrno("open " + path);
  return fd;
}

bool IsEmptyDirectory(int directory) {
  // The buffer holds ".", ".." and at least one more entry of the longest name.
  alignas(std::uint64_t) char entries[1024];
  std::size_t count = 0;
  long size = 0;
  // Some file systems return the entries in several portions.
  while ((size = ::syscall(SYS_getdents64, directory, entries, sizeof entries)) > 0) {
    for (long at = 0; at < size; ++count) {
      at += reinterpret_cast<const dirent64*>(entries + at)->d_reclen;
    }
    if (count > 2) return false;
  }
  return size == 0 && count == 2;
}

Status WalkGuestTree(int directory, const WalkLimits& limits, const TreeVisitor& visitor) {
  return Walk(limits, visitor).Directory(directory, "", 0);
}

}  // namespace polybox::sys
