// The snapshots of one workspace: a directory of polybox's own with the layout of a bare
// repository, outside of the workspace. Commands of the workspace cannot reach it, so the snapshots
// survive whatever commands do to the repository. The caller acts as the workspace's owner, to whom
// the directory belongs. Any thread; several servers can use one store.
//
//   CACHE/workspaces/HASH/snapshots/HEAD
//   CACHE/workspaces/HASH/snapshots/objects/ab/cdef...
//   CACHE/workspaces/HASH/snapshots/refs/sandbox/snapshots/NAME
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "snapshots/file_map.h"
#include "snapshots/object_store.h"
#include "workspace/workspace.h"

namespace polybox::snapshots {

/// The directory of the names, in the store and in the repository of the user.
inline constexpr std::string_view kNamesDirectory = "refs/sandbox/snapshots";

/// Fails with "name is required" or "invalid snapshot name ...".
Status CheckName(std::string_view name);

struct Snapshot {
  std::string name = {};
  ObjectId commit = {};
  ObjectId tree = {};
  std::int64_t time = 0;
  std::string message = {};
};

class SnapshotStore {
 public:
  enum class Use {
    kRead,   ///< Writes nothing. Several users at once.
    kWrite,  ///< Makes the store if there is none. One user alone.
  };

  /// Opens the store and waits for other users. Returns nothing if there is no store and `use` is
  /// kRead. Must be called before the caller acts as the owner.
  static Result<std::optional<SnapshotStore>> Open(const workspace::Workspace& workspace,
                                                   const std::string& cache_dir, Use use);

  const ObjectStore& objects() const { return objects_; }
  /// The newest is first. The message of a damaged one says so, and its names of objects are zero.
  Result<std::vector<Snapshot>> List() const;
  /// Fails with `snapshot "x" not found`, and names those that exist.
  Result<Snapshot> Find(const std::string& name) const;
  bool Has(const std::string& name) const;

  /// Stores the trees and a commit, and gives the commit the name, in place of one that has it. All
  /// contents of `files` must be stored.
  Result<Snapshot> Add(const std::string& name, const std::string& message,
                       const FileMap& files) const;
  /// Takes the name away.
  Status Remove(const std::string& name) const;
  /// Removes all objects that no snapshot needs. Removes nothing if a snapshot is damaged.
  Status RemoveUnused() const;
  /// Returns the commit, the trees and the contents of a snapshot.
  Result<std::vector<ObjectId>> ObjectsOf(const Snapshot& snapshot) const;

 private:
  SnapshotStore(UniqueFd directory, UniqueFd objects)
      : directory_(std::move(directory)), objects_(std::move(objects)) {}

  Result<std::vector<std::string>> Names() const;
  /// `name` must exist.
  Result<Snapshot> Load(const std::string& name) const;

  /// Holds the lock.
  UniqueFd directory_;
  ObjectStore objects_;
};

}  // namespace polybox::snapshots
