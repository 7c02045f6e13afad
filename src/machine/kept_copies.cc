#include "machine/kept_copies.h"

#include <array>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

#include "base/files.h"
#include "sys/guest_tree.h"
#include "workspace/move_aside.h"
#include "workspace/put_file.h"

namespace polybox::machine {
namespace {

constexpr int kDepth = 32;

std::string ParentOf(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

std::string NameOf(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

}  // namespace

void KeptCopies::Keep(const TreePath& place) {
  Forget(place);
  Copies copies = Read(place);
  for (auto& [path, copy] : copies) {
    copy.has_content &= used_ + copy.content.size() <= kMostBytes.count();
    if (!copy.has_content) copy.content.clear();
    used_ += copy.content.size();
  }
  kept_.insert_or_assign(place, std::move(copies));
}

void KeptCopies::Forget(const TreePath& place) {
  const auto kept = kept_.find(place);
  if (kept == kept_.end()) return;
  for (const auto& [path, copy] : kept->second) used_ -= copy.content.size();
  kept_.erase(kept);
}

KeptCopies::Copies KeptCopies::Read(const TreePath& place) {
  Copies copies;
  const int root = trees_[place.tree].directory;
  const Result<UniqueFd> parent =
      workspace::OpenInTree(root, ParentOf(place.path), O_RDONLY | O_DIRECTORY);
  struct stat info{};
  const std::string name = NameOf(place.path);
  if (!parent.ok() || ::fstatat(parent->get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    return copies;
  }
  copies[place.path] = ReadOne(parent->get(), name, info);
  if (!S_ISDIR(info.st_mode)) return copies;
  const Result<UniqueFd> directory =
      workspace::OpenInTree(root, place.path, O_RDONLY | O_DIRECTORY);
  if (!directory.ok()) return copies;
  const sys::TreeVisitor visitor = {
      .entry = [&](const sys::TreeEntry& entry) -> Status {
        if (entry.name.find(workspace::kAsideSuffix) != std::string::npos) return {};
        copies[place.path + "/" + entry.path] = ReadOne(entry.directory, entry.name, entry.info);
        return {};
      },
      .skipped = [](const std::string&, std::string_view) { return Status(); }};
  (void)sys::WalkGuestTree(directory->get(), {.depth = kDepth, .entries = kMostFiles}, visitor);
  return copies;
}

KeptCopies::Copy KeptCopies::ReadOne(int directory, const std::string& name,
                                     const struct stat& info) {
  Copy copy;
  copy.mode = info.st_mode;
  if (S_ISLNK(info.st_mode)) {
    std::array<char, 4096> target{};
    const ssize_t size = ::readlinkat(directory, name.c_str(), target.data(), target.size());
    copy.content.assign(target.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  } else if (S_ISREG(info.st_mode)) {
    const Result<UniqueFd> file = workspace::OpenInTree(directory, name, O_RDONLY);
    if (!file.ok()) return copy;
    workspace::ContentHasher hasher;
    std::array<char, 65536> part{};
    ssize_t size = 0;
    while ((size = ::read(file->get(), part.data(), part.size())) > 0) {
      const std::string_view bytes(part.data(), static_cast<std::size_t>(size));
      hasher.Add(bytes);
      if (copy.content.size() <= kLargestCopy.count()) copy.content += bytes;
    }
    copy.hash = hasher.Finish();
    copy.has_content = copy.content.size() <= kLargestCopy.count();
    return copy;
  }
  copy.has_content = true;
  copy.hash = workspace::HashOf(copy.content);
  return copy;
}

std::vector<Damage> KeptCopies::Restore() {
  std::vector<Damage> all;
  for (const auto& [place, copies] : kept_) {
    for (Damage& damage : Compare(place, copies)) all.push_back(std::move(damage));
  }
  return all;
}

std::vector<Damage> KeptCopies::Compare(const TreePath& place, const Copies& kept) {
  std::vector<Damage> all;
  const Copies now = Read(place);
  const int root = trees_[place.tree].directory;
  for (const auto& [path, copy] : kept) {
    const auto found = now.find(path);
    const bool exists = found != now.end();
    if (exists && found->second.hash == copy.hash && found->second.mode == copy.mode) continue;
    Damage damage = {
        exists ? Damage::Kind::kChanged : Damage::Kind::kRemoved, {place.tree, path}, "", {}};
    const bool only_mode = exists && found->second.hash == copy.hash &&
                           (found->second.mode & S_IFMT) == (copy.mode & S_IFMT);
    if (exists && !only_mode) {
      Result<std::string> aside = workspace::MoveAside(root, path, owner_);
      if (aside.ok()) damage.aside = std::move(aside).value();
    }
    PutBack(path, copy, damage);
    all.push_back(std::move(damage));
  }
  for (const auto& [path, copy] : now) {
    // What was added to an added directory has gone with it.
    const bool parent_is_new = path != place.path && !kept.contains(ParentOf(path));
    if (kept.contains(path) || parent_is_new) continue;
    Result<std::string> aside = workspace::MoveAside(root, path, owner_);
    Damage damage = {Damage::Kind::kAdded, {place.tree, path}, "", {}};
    if (!aside.ok()) damage.restored = aside.error();
    if (aside.ok()) damage.aside = std::move(aside).value();
    all.push_back(std::move(damage));
  }
  return all;
}

void KeptCopies::PutBack(const std::string& path, const Copy& copy, Damage& damage) const {
  const auto put = [&]() -> Status {
    POLYBOX_ASSIGN_OR_RETURN(const workspace::ActAsOwner acting,
                             workspace::ActAsOwner::Begin(owner_));
    workspace::Place place;
    place.name = NameOf(path);
    place.path = path;
    POLYBOX_ASSIGN_OR_RETURN(
        place.parent, workspace::OpenInTree(trees_[damage.place.tree].directory, ParentOf(path),
                                            O_PATH | O_DIRECTORY));
    const int parent = place.parent.get();
    struct stat info{};
    const bool exists = ::fstatat(parent, place.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
    if (!exists && !copy.has_content) {
      return Error(ErrorKind::kUnavailable, "the file is too large for a copy");
    }
    if (S_ISDIR(copy.mode) && !exists && ::mkdirat(parent, place.name.c_str(), 0755) != 0) {
      return Error::FromErrno("mkdir");
    }
    if (S_ISLNK(copy.mode)) {
      const bool made = ::symlinkat(copy.content.c_str(), parent, place.name.c_str()) == 0;
      return made ? Status() : Status(Error::FromErrno("symlink"));
    }
    if (S_ISREG(copy.mode) && !exists) {
      POLYBOX_RETURN_IF_ERROR(workspace::CreateFile(place, path, copy.content));
    }
    POLYBOX_ASSIGN_OR_RETURN(const UniqueFd file,
                             workspace::OpenInTree(parent, place.name, O_RDONLY));
    const bool set = ::fchmod(file.get(), copy.mode & 07777) == 0;
    return set ? Status() : Status(Error::FromErrno("chmod"));
  };
  damage.restored = put();
}

}  // namespace polybox::machine
