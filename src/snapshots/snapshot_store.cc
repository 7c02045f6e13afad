#include "snapshots/snapshot_store.h"

#include <algorithm>
#include <ctime>
#include <fcntl.h>
#include <set>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/files.h"
#include "base/printable.h"
#include "sys/guest_tree.h"
#include "sys/write_beneath.h"
#include "workspace/act_as_owner.h"
#include "workspace/state_directory.h"

namespace polybox::snapshots {
namespace {

/// Fits into a file name together with ".lock".
constexpr std::size_t kLongestName = 100;
/// A listing is read by a model.
constexpr std::size_t kMostSnapshots = 1000;
/// 40 digits and a line end.
constexpr Bytes kLargestRef = Bytes(64);
/// Lets git read the directory as a repository without a branch.
constexpr std::string_view kHead = "ref: refs/heads/none\n";
constexpr std::string_view kNameCharacters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";

Status MakeDirectory(const std::string& path, mode_t mode) {
  if (::mkdir(path.c_str(), mode) == 0 || errno == EEXIST) return {};
  return Error::FromErrno("make " + path);
}

/// Opens the directory; makes it for the owner of the workspace if `use` is kWrite.
Result<UniqueFd> OpenDirectory(const std::string& path, const workspace::Owner& owner,
                               SnapshotStore::Use use) {
  const bool write = use == SnapshotStore::Use::kWrite;
  if (write) POLYBOX_RETURN_IF_ERROR(MakeDirectory(path, S_IRWXU));
  POLYBOX_ASSIGN_OR_RETURN(UniqueFd directory, OpenFile(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  if (write && ::geteuid() == 0 && ::fchown(directory.get(), owner.uid, owner.gid) != 0) {
    return Error::FromErrno("give to the owner of the workspace: " + path);
  }
  return directory;
}

/// Makes what git needs to take the directory for a repository.
Status FillDirectory(int directory) {
  struct stat info{};
  if (::fstatat(directory, "HEAD", &info, AT_SYMLINK_NOFOLLOW) == 0) return {};
  for (const char* name : {"objects", "refs"}) {
    if (::mkdirat(directory, name, S_IRWXU) != 0 && errno != EEXIST) {
      return Error::FromErrno(fmt::format("make {}", name));
    }
  }
  return sys::WriteBeneath(directory, "HEAD", kHead, sys::Existing::kReplace);
}

std::string RefOf(std::string_view name) {
  return fmt::format("{}/{}", kNamesDirectory, name);
}

}  // namespace

Status CheckName(std::string_view name) {
  if (name.empty()) return Error(ErrorKind::kInvalid, "name is required");
  const bool characters = name.find_first_not_of(kNameCharacters) == std::string_view::npos &&
                          name.front() != '-' && name.front() != '.';
  // What git accepts in a name.
  const bool reference =
      name.find("..") == std::string_view::npos && !name.ends_with('.') && !name.ends_with(".lock");
  if (characters && reference && name.size() <= kLongestName) return {};
  return Error(ErrorKind::kInvalid,
               fmt::format("invalid snapshot name \"{}\": must match [A-Za-z0-9_][A-Za-z0-9_.-]*, "
                           "without \"..\" and without \".\" or \".lock\" at the end, at most {} "
                           "characters",
                           PrintableForQuotes(name, 2 * kLongestName), kLongestName));
}

Result<std::optional<SnapshotStore>> SnapshotStore::Open(const workspace::Workspace& workspace,
                                                         const std::string& cache_dir, Use use) {
  if (cache_dir.empty()) {
    return Error(ErrorKind::kUnavailable,
                 "snapshots are kept in the cache directory, and there is none")
        .WithFix("name one with --cache-dir");
  }
  const bool write = use == Use::kWrite;
  POLYBOX_ASSIGN_OR_RETURN(
      const std::string parent,
      workspace::StateDirectory(workspace, cache_dir,
                                write ? workspace::Missing::kMake : workspace::Missing::kLeave));
  Result<UniqueFd> directory = OpenDirectory(parent + "/snapshots", workspace.owner(), use);
  if (!directory.ok()) {
    const bool missing = !write && directory.error().system_errno() == ENOENT;
    return missing ? Result(std::optional<SnapshotStore>()) : std::move(directory).error();
  }
  if (::flock(directory->get(), write ? LOCK_EX : LOCK_SH) != 0) {
    return Error::FromErrno("lock the snapshots");
  }
  POLYBOX_ASSIGN_OR_RETURN(const workspace::ActAsOwner acting,
                           workspace::ActAsOwner::Begin(workspace.owner()));
  if (write) POLYBOX_RETURN_IF_ERROR(FillDirectory(directory->get()));
  Result<UniqueFd> objects = sys::OpenBeneath(directory->get(), "objects", O_RDONLY | O_DIRECTORY);
  if (!objects.ok()) {
    // Another server has just made the directory.
    const bool missing = !write && objects.error().system_errno() == ENOENT;
    return missing ? Result(std::optional<SnapshotStore>()) : std::move(objects).error();
  }
  return std::optional(SnapshotStore(std::move(directory).value(), std::move(objects).value()));
}

Result<std::vector<std::string>> SnapshotStore::Names() const {
  std::vector<std::string> names;
  const Result<UniqueFd> directory =
      sys::OpenBeneath(directory_.get(), std::string(kNamesDirectory), O_RDONLY | O_DIRECTORY);
  if (!directory.ok()) {
    if (directory.error().system_errno() == ENOENT) return names;
    return directory.error();
  }
  const sys::TreeVisitor visitor = {
      .entry = [&](const sys::TreeEntry& entry) -> Status {
        if (CheckName(entry.name).ok()) names.push_back(entry.name);
        return {};
      },
      .skipped = [](const std::string& path, std::string_view why) -> Status {
        return Error(ErrorKind::kSystem, fmt::format("read {}: {}", path, why));
      }};
  POLYBOX_RETURN_IF_ERROR(sys::WalkGuestTree(directory->get(), {.depth = 0}, visitor));
  return names;
}

bool SnapshotStore::Has(const std::string& name) const {
  return sys::OpenBeneath(directory_.get(), RefOf(name), O_RDONLY).ok();
}

Result<Snapshot> SnapshotStore::Load(const std::string& name) const {
  POLYBOX_ASSIGN_OR_RETURN(const UniqueFd file,
                           sys::OpenBeneath(directory_.get(), RefOf(name), O_RDONLY));
  POLYBOX_ASSIGN_OR_RETURN(const std::string text, ReadAll(file.get(), kLargestRef));
  const std::optional<ObjectId> id = ParseHex(std::string_view(text).substr(0, text.find('\n')));
  if (!id) return Error(ErrorKind::kSystem, fmt::format("snapshot \"{}\" is damaged", name));
  POLYBOX_ASSIGN_OR_RETURN(const std::string content, objects_.Get(ObjectType::kCommit, *id));
  POLYBOX_ASSIGN_OR_RETURN(Commit commit, ParseCommit(content));
  return Snapshot{.name = name,
                  .commit = *id,
                  .tree = commit.tree,
                  .time = commit.time,
                  .message = std::move(commit.message)};
}

Result<std::vector<Snapshot>> SnapshotStore::List() const {
  POLYBOX_ASSIGN_OR_RETURN(const std::vector<std::string> names, Names());
  std::vector<Snapshot> snapshots;
  for (const std::string& name : names) {
    Result<Snapshot> snapshot = Load(name);
    if (!snapshot.ok()) {
      snapshots.push_back({.name = name, .message = "(" + snapshot.error().message() + ")"});
      continue;
    }
    snapshots.push_back(std::move(snapshot).value());
  }
  std::ranges::stable_sort(snapshots, std::ranges::greater(), &Snapshot::time);
  return snapshots;
}

Result<Snapshot> SnapshotStore::Find(const std::string& name) const {
  if (Has(name)) return Load(name);
  POLYBOX_ASSIGN_OR_RETURN(const std::vector<std::string> names, Names());
  Error error(ErrorKind::kNotFound, fmt::format("snapshot \"{}\" not found", name));
  if (names.empty()) return error;
  return std::move(error).WithFix(fmt::format("there are: {}", fmt::join(names, ", ")));
}

Result<Snapshot> SnapshotStore::Add(const std::string& name, const std::string& message,
                                    const FileMap& files) const {
  POLYBOX_ASSIGN_OR_RETURN(const std::vector<std::string> names, Names());
  if (names.size() >= kMostSnapshots) {
    return Error(ErrorKind::kInvalid, fmt::format("there are {} snapshots already", names.size()))
        .WithFix("snapshot_delete removes one");
  }
  const auto put = [&](ObjectType type, const ObjectId& id, std::string_view content) {
    return objects_.Put(type, id, content);
  };
  Commit commit = {.time = std::time(nullptr), .message = message};
  POLYBOX_ASSIGN_OR_RETURN(commit.tree, WriteTrees(files, put));
  const std::string content = CommitContent(commit);
  const ObjectId id = IdOf(ObjectType::kCommit, content);
  POLYBOX_RETURN_IF_ERROR(put(ObjectType::kCommit, id, content));
  POLYBOX_RETURN_IF_ERROR(
      sys::WriteBeneath(directory_.get(), RefOf(name), Hex(id) + "\n", sys::Existing::kReplace));
  return Load(name);
}

Status SnapshotStore::Remove(const std::string& name) const {
  POLYBOX_ASSIGN_OR_RETURN(
      const UniqueFd directory,
      sys::OpenBeneath(directory_.get(), std::string(kNamesDirectory), O_RDONLY | O_DIRECTORY));
  if (::unlinkat(directory.get(), name.c_str(), 0) != 0) {
    return Error::FromErrno("remove the snapshot");
  }
  return {};
}

Result<std::vector<ObjectId>> SnapshotStore::ObjectsOf(const Snapshot& snapshot) const {
  POLYBOX_ASSIGN_OR_RETURN(Contents contents, ReadTrees(objects_, snapshot.tree));
  std::vector<ObjectId> ids = {snapshot.commit};
  ids.insert(ids.end(), contents.trees.begin(), contents.trees.end());
  for (const auto& [path, state] : contents.files) ids.push_back(state.id);
  return ids;
}

Status SnapshotStore::RemoveUnused() const {
  POLYBOX_ASSIGN_OR_RETURN(const std::vector<std::string> names, Names());
  std::set<ObjectId> used;
  for (const std::string& name : names) {
    POLYBOX_ASSIGN_OR_RETURN(const Snapshot snapshot, Load(name));
    POLYBOX_ASSIGN_OR_RETURN(const std::vector<ObjectId> ids, ObjectsOf(snapshot));
    used.insert(ids.begin(), ids.end());
  }
  for (const ObjectId& id : objects_.All()) {
    if (!used.contains(id)) objects_.Remove(id);
  }
  return {};
}

}  // namespace polybox::snapshots
