// The files of a snapshot or of a workspace as a flat list: path, mode and content's name. From and
// to the trees of git. Any thread.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "snapshots/git_object.h"
#include "snapshots/object_store.h"

namespace polybox::snapshots {

struct FileState {
  /// Never kDirectory.
  EntryMode mode = EntryMode::kFile;
  /// The name of the content; that of a link is its target.
  ObjectId id = {};

  bool operator==(const FileState&) const = default;
};

/// By path from the root of the workspace, as bytes.
using FileMap = std::map<std::string, FileState>;

/// Takes an object whose name is `id`.
using ObjectSink =
    std::function<Status(ObjectType type, const ObjectId& id, std::string_view content)>;

/// Gives the trees of `files` to `sink`, the root tree last. Returns the name of the root tree.
Result<ObjectId> WriteTrees(const FileMap& files, const ObjectSink& sink);

/// What a root tree leads to.
struct Contents {
  FileMap files;
  std::vector<ObjectId> trees;
};
Result<Contents> ReadTrees(const ObjectStore& store, const ObjectId& root);

enum class ChangeKind {
  kAdded,
  kRemoved,
  kContent,
  kMode,  ///< Only the executable bit. A change of content and bit is kContent.
  kType,  ///< A link became a file, or a file a link.
};

/// The words for answers. Found by argument-dependent lookup, for JSON.
std::vector<std::pair<ChangeKind, std::string_view>> NamesOf(ChangeKind type);

struct Change {
  std::string path = {};
  ChangeKind kind = ChangeKind::kContent;
  std::optional<FileState> before = {};
  std::optional<FileState> after = {};
};

/// Returns every difference, sorted by path.
std::vector<Change> Compare(const FileMap& before, const FileMap& after);

}  // namespace polybox::snapshots
