#include "snapshots/file_map.h"

#include <utility>

namespace polybox::snapshots {
namespace {

/// Deeper than the walk of a workspace goes.
constexpr int kDeepest = 128;

struct Directory {
  std::map<std::string, Directory, std::less<>> directories;
  std::map<std::string, FileState> files;
};

Directory Nested(const FileMap& files) {
  Directory root;
  for (const auto& [path, state] : files) {
    Directory* at = &root;
    std::string_view rest = path;
    for (std::size_t slash = rest.find('/'); slash != std::string_view::npos;
         slash = rest.find('/')) {
      at = &at->directories[std::string(rest.substr(0, slash))];
      rest.remove_prefix(slash + 1);
    }
    at->files.emplace(rest, state);
  }
  return root;
}

Result<ObjectId> Write(const Directory& directory, const ObjectSink& sink) {
  std::vector<TreeEntry> entries;
  for (const auto& [name, inner] : directory.directories) {
    POLYBOX_ASSIGN_OR_RETURN(const ObjectId id, Write(inner, sink));
    entries.push_back({EntryMode::kDirectory, name, id});
  }
  for (const auto& [name, state] : directory.files) entries.push_back({state.mode, name, state.id});
  const std::string content = TreeContent(std::move(entries));
  const ObjectId id = IdOf(ObjectType::kTree, content);
  POLYBOX_RETURN_IF_ERROR(sink(ObjectType::kTree, id, content));
  return id;
}

Status Read(const ObjectStore& store, const ObjectId& tree, const std::string& prefix, int depth,
            Contents& contents) {
  if (depth > kDeepest) return Error(ErrorKind::kSystem, "a stored tree is too deep");
  POLYBOX_ASSIGN_OR_RETURN(const std::string content, store.Get(ObjectType::kTree, tree));
  POLYBOX_ASSIGN_OR_RETURN(const std::vector<TreeEntry> entries, ParseTree(content));
  contents.trees.push_back(tree);
  for (const TreeEntry& entry : entries) {
    std::string path = prefix + entry.name;
    if (entry.mode == EntryMode::kDirectory) {
      POLYBOX_RETURN_IF_ERROR(Read(store, entry.id, path + "/", depth + 1, contents));
    } else {
      contents.files.emplace(std::move(path), FileState{entry.mode, entry.id});
    }
  }
  return {};
}

ChangeKind KindOf(const FileState& before, const FileState& after) {
  if ((before.mode == EntryMode::kLink) != (after.mode == EntryMode::kLink)) {
    return ChangeKind::kType;
  }
  return before.id == after.id ? ChangeKind::kMode : ChangeKind::kContent;
}

}  // namespace

std::vector<std::pair<ChangeKind, std::string_view>> NamesOf(ChangeKind /*type*/) {
  return {{ChangeKind::kAdded, "added"},
          {ChangeKind::kRemoved, "removed"},
          {ChangeKind::kContent, "modified"},
          {ChangeKind::kMode, "mode"},
          {ChangeKind::kType, "type"}};
}

Result<ObjectId> WriteTrees(const FileMap& files, const ObjectSink& sink) {
  return Write(Nested(files), sink);
}

Result<Contents> ReadTrees(const ObjectStore& store, const ObjectId& root) {
  Contents contents;
  POLYBOX_RETURN_IF_ERROR(Read(store, root, "", 0, contents));
  return contents;
}

std::vector<Change> Compare(const FileMap& before, const FileMap& after) {
  std::vector<Change> changes;
  auto left = before.begin();
  auto right = after.begin();
  while (left != before.end() || right != after.end()) {
    if (right == after.end() || (left != before.end() && left->first < right->first)) {
      changes.push_back({left->first, ChangeKind::kRemoved, left->second, std::nullopt});
      ++left;
    } else if (left == before.end() || right->first < left->first) {
      changes.push_back({right->first, ChangeKind::kAdded, std::nullopt, right->second});
      ++right;
    } else {
      if (left->second != right->second) {
        changes.push_back(
            {left->first, KindOf(left->second, right->second), left->second, right->second});
      }
      ++left;
      ++right;
    }
  }
  return changes;
}

}  // namespace polybox::snapshots
