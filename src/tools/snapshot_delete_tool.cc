// snapshot_delete: forgets a saved state.
#include <fmt/format.h>

#include "tools/snapshot_call.h"
#include "tools/tool.h"
#include "tools/walk_notes.h"

namespace polybox::tools {
namespace {

using snapshots::SnapshotStore;

struct DeleteArguments {
  std::string name;

  static constexpr auto Members() {
    return std::tuple(json::Required("name", &DeleteArguments::name));
  }
};

struct DeleteResult {
  std::string name = {};
  std::vector<std::string> notes = {};

  static constexpr auto Members() {
    return std::tuple(json::Required("name", &DeleteResult::name),
                      json::Required("notes", &DeleteResult::notes));
  }
};

std::string Text(const DeleteResult& result) {
  return WithoutOnlyLineEnd(fmt::format("snapshot {} deleted\n", result.name) +
                            NoteLines(result.notes));
}

Result<DeleteResult> Delete(const Context& context, const DeleteArguments& arguments) {
  POLYBOX_RETURN_IF_ERROR(snapshots::CheckName(arguments.name));
  POLYBOX_ASSIGN_OR_RETURN(const SnapshotCall call,
                           SnapshotCall::Begin(context, {.store = SnapshotStore::Use::kWrite,
                                                         .workspace = Purpose::kWrite}));
  DeleteResult result = {.name = arguments.name};
  const Result<snapshots::Snapshot> found = call.Find(arguments.name);
  // A damaged snapshot can be deleted too.
  if (!found.ok() && !call.store()->Has(arguments.name)) return found.error();
  POLYBOX_RETURN_IF_ERROR(call.store()->Remove(arguments.name));
  if (found.ok()) call.Hide(arguments.name, found->commit, result.notes);
  if (const Status removed = call.store()->RemoveUnused(); !removed.ok()) {
    result.notes.push_back("its contents stay on disk: " + removed.error().message());
  }
  return result;
}

}  // namespace

Tool SnapshotDeleteTool() {
  return MakeTool<DeleteArguments, DeleteResult>(
      {.name = "snapshot_delete",
       .title = "Delete a snapshot",
       .description = "Deletes a snapshot. No file of the workspace changes.",
       .group = "snapshots",
       .annotations =
           {.read_only = false, .destructive = true, .idempotent = false, .open_world = false}},
      Delete);
}

}  // namespace polybox::tools
