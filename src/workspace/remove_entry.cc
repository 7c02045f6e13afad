#include "workspace/remove_entry.h"

#include <cerrno>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <tuple>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>

#include "sys/guest_tree.h"
#include "workspace/system_text.h"

namespace polybox::workspace {
namespace {

/// Deeper than any project. The removal holds a descriptor for each level.
constexpr int kDeepest = 128;
/// Larger than any project with its dependencies.
constexpr std::size_t kMostEntries = 2'000'000;

/// Returns the names in a directory, which is read to its end before anything is removed.
Result<std::vector<std::string>> NamesIn(int directory) {
  UniqueFd own(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!own.valid()) return Error::FromErrno("open");
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(own.get()), ::closedir);
  if (!stream) return Error::FromErrno("open");
  std::ignore = own.release();
  std::vector<std::string> names;
  for (const dirent* entry = ::readdir(stream.get());
       entry != nullptr && names.size() < kMostEntries; entry = ::readdir(stream.get())) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  return names;
}

class Removal {
 public:
  explicit Removal(const MayRemove& check) : check_(check) {}

  Status Remove(int parent, const std::string& name, const std::string& path, int depth) {
    POLYBOX_RETURN_IF_ERROR(check_(path));
    struct stat info{};
    if (::fstatat(parent, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
      return CallError("lstat", path, errno);
    }
    if (!S_ISDIR(info.st_mode)) {
      if (::unlinkat(parent, name.c_str(), 0) != 0) return CallError("unlink", path, errno);
      ++removed_.files;
      return {};
    }
    POLYBOX_RETURN_IF_ERROR(Empty(parent, name, path, depth));
    if (::unlinkat(parent, name.c_str(), AT_REMOVEDIR) != 0) {
      return CallError("rmdir", path, errno);
    }
    ++removed_.directories;
    return {};
  }

  const Removed& removed() const { return removed_; }

 private:
  Status Empty(int parent, const std::string& name, const std::string& path, int depth) {
    if (depth >= kDeepest) return CallError("open", path, ELOOP);
    const Result<UniqueFd> directory = sys::OpenBeneath(parent, name, O_RDONLY | O_DIRECTORY);
    if (!directory.ok()) return CallError("open", path, directory.error().system_errno());
    const Result<std::vector<std::string>> names = NamesIn(directory->get());
    if (!names.ok()) return CallError("open", path, names.error().system_errno());
    for (const std::string& inner : *names) {
      POLYBOX_RETURN_IF_ERROR(Remove(directory->get(), inner, path + "/" + inner, depth + 1));
    }
    return {};
  }

  const MayRemove& check_;
  Removed removed_;
};

}  // namespace

Status CheckTree(const Place& place, const MayRemove& check) {
  POLYBOX_RETURN_IF_ERROR(check(place.path));
  POLYBOX_ASSIGN_OR_RETURN(const struct stat info, StateOf(place));
  if (!S_ISDIR(info.st_mode)) return {};
  const Result<UniqueFd> directory = OpenAt(place, O_RDONLY | O_DIRECTORY);
  if (!directory.ok()) return CallError("open", place.path, directory.error().system_errno());
  const sys::TreeVisitor visitor = {
      .entry = [&](const sys::TreeEntry& entry) { return check(place.path + "/" + entry.path); },
      .skipped = [&](const std::string& path, std::string_view why) -> Status {
        return Error(ErrorKind::kSystem, fmt::format("open {}/{}: {}", place.path, path, why));
      },
  };
  return sys::WalkGuestTree(directory->get(), {.depth = kDeepest, .entries = kMostEntries},
                            visitor);
}

Result<Removed> RemoveTree(const Place& place, const MayRemove& check) {
  Removal removal(check);
  POLYBOX_RETURN_IF_ERROR(removal.Remove(place.parent.get(), place.name, place.path, 0));
  return removal.removed();
}

}  // namespace polybox::workspace
