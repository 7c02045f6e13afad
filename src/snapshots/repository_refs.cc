#include "snapshots/repository_refs.h"

#include <algorithm>
#include <cctype>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>
#include <sys/stat.h>

#include "base/files.h"
#include "sys/guest_tree.h"
#include "sys/write_beneath.h"
#include "workspace/act_as_owner.h"

namespace polybox::snapshots {
namespace {

constexpr Bytes kLargestConfig = Bytes::MiB(1);
constexpr Bytes kLargestRef = Bytes::KiB(4);
/// A million refs.
constexpr Bytes kLargestPackedRefs = Bytes::MiB(128);
constexpr const char* kPackedRefs = "packed-refs";

std::string RefOf(std::string_view name) {
  return fmt::format("{}/{}", kNamesDirectory, name);
}

/// Reads a plain file below `directory`. Returns "" if there is none.
Result<std::string> ReadBelow(int directory, const std::string& path, Bytes largest) {
  const Result<UniqueFd> file = sys::OpenBeneath(directory, path, O_RDONLY);
  if (!file.ok()) {
    if (file.error().system_errno() == ENOENT) return std::string();
    return file.error();
  }
  struct stat info{};
  if (::fstat(file->get(), &info) != 0 || !S_ISREG(info.st_mode)) {
    return Error(ErrorKind::kSystem, path + " is not a plain file");
  }
  return ReadAll(file->get(), largest).In("read " + path);
}

/// Fails for a repository whose objects or refs have another format. Refs of the usual format would
/// damage such a repository. The two words are searched for, and nothing else is taken from the
/// configuration.
Status CheckFormat(int repository) {
  POLYBOX_ASSIGN_OR_RETURN(std::string config, ReadBelow(repository, "config", kLargestConfig));
  std::ranges::transform(config, config.begin(), [](unsigned char c) { return std::tolower(c); });
  for (const char* word : {"objectformat", "refstorage"}) {
    if (config.find(word) != std::string::npos) {
      return Error(ErrorKind::kUnavailable,
                   fmt::format("its configuration contains the word {}", word));
    }
  }
  return {};
}

Result<UniqueFd> OpenDirectory(int directory, const std::string& name) {
  return sys::OpenBeneath(directory, name, O_RDONLY | O_DIRECTORY);
}

/// Opens the directory of the repository; an empty descriptor if the workspace has none.
Result<UniqueFd> FindRepository(const workspace::Workspace& workspace) {
  POLYBOX_ASSIGN_OR_RETURN(std::optional<workspace::LinkedWorktree> linked,
                           workspace::FindLinkedWorktree(workspace));
  if (linked) return std::move(linked->directory);
  POLYBOX_ASSIGN_OR_RETURN(const workspace::ActAsOwner acting,
                           workspace::ActAsOwner::Begin(workspace.owner()));
  Result<UniqueFd> repository = OpenDirectory(workspace.root().directory, ".git");
  if (repository.ok() || repository.error().system_errno() != ENOENT) return repository;
  return UniqueFd();
}

/// A lock as git takes it: a file NAME.lock, which replaces NAME when it is committed. The
/// destructor gives the lock up.
class LockFile {
 public:
  static Result<LockFile> Take(int directory, const std::string& path, std::string_view content) {
    Status taken = sys::WriteBeneath(directory, path + ".lock", content, sys::Existing::kKeep);
    if (taken.ok()) return LockFile(directory, path);
    if (taken.error().system_errno() != EEXIST) return std::move(taken).error();
    return Error(ErrorKind::kSystem, fmt::format("another program holds {}.lock", path));
  }
  LockFile(LockFile&& other) noexcept
      : directory_(other.directory_), path_(std::exchange(other.path_, "")) {}
  LockFile& operator=(LockFile&&) = delete;
  ~LockFile() {
    if (path_.empty()) return;
    if (const Result<UniqueFd> parent = Parent(); parent.ok()) {
      ::unlinkat(parent->get(), (Name() + ".lock").c_str(), 0);
    }
  }

  Status Commit() {
    POLYBOX_ASSIGN_OR_RETURN(const UniqueFd parent, Parent());
    const std::string name = Name();
    if (::renameat(parent.get(), (name + ".lock").c_str(), parent.get(), name.c_str()) != 0) {
      return Error::FromErrno("write " + path_);
    }
    path_.clear();
    return {};
  }

  /// Removes the file that is locked; the lock stays.
  Status Remove() const {
    POLYBOX_ASSIGN_OR_RETURN(const UniqueFd parent, Parent());
    if (::unlinkat(parent.get(), Name().c_str(), 0) == 0 || errno == ENOENT) return {};
    return Error::FromErrno("remove " + path_);
  }

 private:
  LockFile(int directory, std::string path) : directory_(directory), path_(std::move(path)) {}

  std::string Name() const { return path_.substr(path_.rfind('/') + 1); }
  Result<UniqueFd> Parent() const {
    const std::size_t slash = path_.rfind('/');
    return sys::OpenBeneath(directory_, slash == std::string::npos ? "." : path_.substr(0, slash),
                            O_RDONLY | O_DIRECTORY);
  }

  int directory_;
  std::string path_;
};

/// Returns the line of a ref in the file with many refs: its start and its end.
std::optional<std::pair<std::size_t, std::size_t>> FindPacked(std::string_view packed,
                                                              const std::string& name) {
  const std::string end_of_line = " " + RefOf(name) + "\n";
  const std::size_t found = packed.find(end_of_line);
  if (found == std::string_view::npos) return std::nullopt;
  const std::size_t before = packed.rfind('\n', found);
  const std::size_t start = before == std::string_view::npos ? 0 : before + 1;
  return std::pair(start, found + end_of_line.size());
}

}  // namespace

Result<std::optional<RepositoryRefs>> RepositoryRefs::Open(const workspace::Workspace& workspace) {
  POLYBOX_ASSIGN_OR_RETURN(UniqueFd repository, FindRepository(workspace));
  if (!repository.valid()) return std::optional<RepositoryRefs>();
  POLYBOX_ASSIGN_OR_RETURN(const workspace::ActAsOwner acting,
                           workspace::ActAsOwner::Begin(workspace.owner()));
  POLYBOX_RETURN_IF_ERROR(CheckFormat(repository.get()));
  POLYBOX_ASSIGN_OR_RETURN(UniqueFd objects, OpenDirectory(repository.get(), "objects"));
  POLYBOX_RETURN_IF_ERROR(OpenDirectory(repository.get(), "refs").ok()
                              ? Status()
                              : Status(Error(ErrorKind::kSystem, "it has no directory refs")));
  return std::optional(RepositoryRefs(std::move(repository), std::move(objects)));
}

Result<std::optional<ObjectId>> RepositoryRefs::Read(const std::string& name) const {
  const auto id_in = [&](std::string_view text) -> Result<std::optional<ObjectId>> {
    if (const std::optional<ObjectId> id = ParseHex(text)) return id;
    return Error(ErrorKind::kSystem, fmt::format("{} is not the name of a commit", RefOf(name)));
  };
  POLYBOX_ASSIGN_OR_RETURN(const std::string text,
                           ReadBelow(directory_.get(), RefOf(name), kLargestRef));
  if (!text.empty()) return id_in(std::string_view(text).substr(0, text.find('\n')));
  POLYBOX_ASSIGN_OR_RETURN(const std::string packed,
                           ReadBelow(directory_.get(), kPackedRefs, kLargestPackedRefs));
  const auto line = FindPacked(packed, name);
  if (!line) return std::optional<ObjectId>();
  return id_in(
      std::string_view(packed).substr(line->first, packed.find(' ', line->first) - line->first));
}

Status RepositoryRefs::Show(const SnapshotStore& store, const Snapshot& snapshot,
                            const std::optional<ObjectId>& previous) const {
  POLYBOX_ASSIGN_OR_RETURN(const std::vector<ObjectId> ids, store.ObjectsOf(snapshot));
  for (const ObjectId& id : ids) {
    POLYBOX_RETURN_IF_ERROR(store.objects().CopyTo(objects_, id));
  }
  POLYBOX_ASSIGN_OR_RETURN(LockFile lock, LockFile::Take(directory_.get(), RefOf(snapshot.name),
                                                         Hex(snapshot.commit) + "\n"));
  POLYBOX_ASSIGN_OR_RETURN(const std::optional<ObjectId> present, Read(snapshot.name));
  if (present && present != previous && present != snapshot.commit) {
    return Error(ErrorKind::kInvalid,
                 fmt::format("{} exists and names another commit", RefOf(snapshot.name)));
  }
  return lock.Commit();
}

Status RepositoryRefs::RemovePacked(const std::string& name) const {
  POLYBOX_ASSIGN_OR_RETURN(std::string packed,
                           ReadBelow(directory_.get(), kPackedRefs, kLargestPackedRefs));
  if (!FindPacked(packed, name)) return {};
  POLYBOX_ASSIGN_OR_RETURN(LockFile lock, LockFile::Take(directory_.get(), kPackedRefs, ""));
  // Another program may have written the file before the lock was taken.
  POLYBOX_ASSIGN_OR_RETURN(packed, ReadBelow(directory_.get(), kPackedRefs, kLargestPackedRefs));
  const auto line = FindPacked(packed, name);
  if (!line) return {};
  packed.erase(line->first, line->second - line->first);
  POLYBOX_RETURN_IF_ERROR(sys::WriteBeneath(directory_.get(), std::string(kPackedRefs) + ".lock",
                                            packed, sys::Existing::kReplace));
  return lock.Commit();
}

Status RepositoryRefs::Hide(const std::string& name, const ObjectId& commit) const {
  POLYBOX_ASSIGN_OR_RETURN(const std::optional<ObjectId> seen, Read(name));
  if (seen != commit) return {};
  POLYBOX_ASSIGN_OR_RETURN(const LockFile lock, LockFile::Take(directory_.get(), RefOf(name), ""));
  POLYBOX_ASSIGN_OR_RETURN(const std::optional<ObjectId> present, Read(name));
  if (present != commit) return {};
  POLYBOX_RETURN_IF_ERROR(RemovePacked(name));
  return lock.Remove();
}

}  // namespace polybox::snapshots
