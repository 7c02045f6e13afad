// Shows snapshots in the repository of the user, as refs/sandbox/snapshots/NAME: `git show`, `git
// diff` and `git log` then know them. The repository is only written to: it has copies of the
// objects, and its configuration, attributes and hooks have no effect. Writing follows git's own
// protocol of lock files. The caller acts as the workspace's owner. Any thread.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "snapshots/object_store.h"
#include "snapshots/snapshot_store.h"
#include "workspace/linked_worktree.h"
#include "workspace/workspace.h"

namespace polybox::snapshots {

class RepositoryRefs {
 public:
  /// Returns nothing if the workspace has no repository. Fails if there is one that cannot be
  /// written to; the message says why. Must be called before the caller acts as the owner.
  static Result<std::optional<RepositoryRefs>> Open(const workspace::Workspace& workspace);

  /// Makes the ref with all objects. Replaces a ref only if it names `previous`.
  Status Show(const SnapshotStore& store, const Snapshot& snapshot,
              const std::optional<ObjectId>& previous) const;
  /// Removes the ref, if it names `commit`. The objects stay until `git gc`.
  Status Hide(const std::string& name, const ObjectId& commit) const;

 private:
  explicit RepositoryRefs(UniqueFd directory, UniqueFd objects)
      : directory_(std::move(directory)), objects_(std::move(objects)) {}

  /// Returns what the ref names; nothing if there is no such ref.
  Result<std::optional<ObjectId>> Read(const std::string& name) const;
  /// Takes the ref out of the file with many refs.
  Status RemovePacked(const std::string& name) const;

  UniqueFd directory_;
  ObjectStore objects_;
};

}  // namespace polybox::snapshots
