#include "tools/snapshot_call.h"

#include <fmt/format.h>

#include "tools/walk_notes.h"
#include "workspace/workspace_set.h"

namespace polybox::tools {

using snapshots::Snapshot;
using snapshots::SnapshotStore;

Result<SnapshotCall> SnapshotCall::Begin(const Context& context, const SnapshotUse& use) {
  if (context.workspaces == nullptr) {
    return Error(ErrorKind::kInvalid, "no workspace configured (BUG)");
  }
  POLYBOX_ASSIGN_OR_RETURN(workspace::Workspace * workspace,
                           context.workspaces->Find(context.workspace));
  // Before anything is made for a workspace in which nothing may be written.
  {
    POLYBOX_ASSIGN_OR_RETURN(const WorkspaceCall allowed,
                             WorkspaceCall::Begin(context, use.workspace));
  }
  Result<std::optional<SnapshotStore>> store =
      SnapshotStore::Open(*workspace, context.cache_dir, use.store).In("snapshots");
  if (!store.ok()) return std::move(store).error();
  Result<std::optional<snapshots::RepositoryRefs>> refs =
      use.store == SnapshotStore::Use::kWrite ? snapshots::RepositoryRefs::Open(*workspace)
                                              : std::optional<snapshots::RepositoryRefs>();
  POLYBOX_ASSIGN_OR_RETURN(WorkspaceCall files, WorkspaceCall::Begin(context, use.workspace));
  return SnapshotCall(std::move(store).value(), std::move(refs), std::move(files));
}

Result<Snapshot> SnapshotCall::Find(const std::string& name) const {
  POLYBOX_RETURN_IF_ERROR(snapshots::CheckName(name));
  if (store_) return store_->Find(name);
  return Error(ErrorKind::kNotFound, fmt::format("snapshot \"{}\" not found", name));
}

void SnapshotCall::Show(const Snapshot& snapshot,
                        const std::optional<snapshots::ObjectId>& previous,
                        std::vector<std::string>& notes) const {
  if (refs_.ok() && !*refs_) return;
  const Status shown = refs_.ok() ? (*refs_)->Show(*store_, snapshot, previous) : refs_.error();
  if (shown.ok()) return;
  notes.push_back(fmt::format("the repository has no ref {}/{}: {}; the snapshot is complete",
                              snapshots::kNamesDirectory, snapshot.name,
                              ShownPath(shown.error().message())));
}

void SnapshotCall::Hide(const std::string& name, const snapshots::ObjectId& commit,
                        std::vector<std::string>& notes) const {
  if (refs_.ok() && !*refs_) return;
  const Status hidden = refs_.ok() ? (*refs_)->Hide(name, commit) : refs_.error();
  if (hidden.ok()) return;
  notes.push_back(fmt::format("the ref {}/{} of the repository stays: {}",
                              snapshots::kNamesDirectory, name,
                              ShownPath(hidden.error().message())));
}

std::vector<ChangedFile> DataOf(const std::vector<snapshots::Change>& changes) {
  std::vector<ChangedFile> data;
  data.reserve(changes.size());
  for (const snapshots::Change& each : changes) data.push_back({ShownPath(each.path), each.kind});
  return data;
}

std::vector<PathReason> DataOf(const std::map<std::string, std::string>& left_out) {
  std::vector<PathReason> data;
  for (const auto& [path, why] : left_out) data.push_back({ShownPath(path), why});
  return data;
}

std::string WithoutOnlyLineEnd(std::string text) {
  if (!text.empty() && text.find('\n') == text.size() - 1) text.pop_back();
  return text;
}

std::string ReasonLines(std::string_view heading, const std::vector<PathReason>& reasons) {
  if (reasons.empty()) return "";
  std::string text = fmt::format("{}\n", heading);
  for (const PathReason& each : reasons) text += fmt::format("  {}: {}\n", each.path, each.why);
  return text;
}

}  // namespace polybox::tools
