// What the snapshot tools have in common: they open the store and the repository, and then act as
// the workspace's owner. Any thread; the objects belong to one call.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "json/bind.h"
#include "snapshots/repository_refs.h"
#include "snapshots/scan.h"
#include "snapshots/snapshot_store.h"
#include "tools/context.h"
#include "tools/file_target.h"

namespace polybox::tools {

/// What a call does with the store and with the repository.
struct SnapshotUse {
  snapshots::SnapshotStore::Use store = snapshots::SnapshotStore::Use::kRead;
  Purpose workspace = Purpose::kRead;
};

class SnapshotCall {
 public:
  static Result<SnapshotCall> Begin(const Context& context, const SnapshotUse& use);

  workspace::Workspace& workspace() const { return files_.workspace(); }
  /// Null if nothing was ever saved.
  const snapshots::SnapshotStore* store() const { return store_ ? &*store_ : nullptr; }
  /// Fails with `snapshot "x" not found`.
  Result<snapshots::Snapshot> Find(const std::string& name) const;
  /// Makes the ref in the user's repository. What prevents that is a note.
  void Show(const snapshots::Snapshot& snapshot, const std::optional<snapshots::ObjectId>& previous,
            std::vector<std::string>& notes) const;
  void Hide(const std::string& name, const snapshots::ObjectId& commit,
            std::vector<std::string>& notes) const;

 private:
  SnapshotCall(std::optional<snapshots::SnapshotStore> store,
               Result<std::optional<snapshots::RepositoryRefs>> refs, WorkspaceCall files)
      : store_(std::move(store)), refs_(std::move(refs)), files_(std::move(files)) {}

  std::optional<snapshots::SnapshotStore> store_;
  Result<std::optional<snapshots::RepositoryRefs>> refs_;
  WorkspaceCall files_;
};

/// A path with a reason, as data.
struct PathReason {
  std::string path = {};
  std::string why = {};

  static constexpr auto Members() {
    return std::tuple(json::Required("path", &PathReason::path),
                      json::Required("why", &PathReason::why));
  }
};

/// A difference, as data.
struct ChangedFile {
  std::string path = {};
  snapshots::ChangeKind change = snapshots::ChangeKind::kContent;

  static constexpr auto Members() {
    return std::tuple(json::Required("path", &ChangedFile::path),
                      json::Required("change", &ChangedFile::change));
  }
};

std::vector<ChangedFile> DataOf(const std::vector<snapshots::Change>& changes);
std::vector<PathReason> DataOf(const std::map<std::string, std::string>& left_out);
/// Returns a text of one line without its line end, as agents know it, and other texts unchanged.
std::string WithoutOnlyLineEnd(std::string text);
/// Returns a line for each, indented, below `heading`; "" if there are none.
std::string ReasonLines(std::string_view heading, const std::vector<PathReason>& reasons);

}  // namespace polybox::tools
