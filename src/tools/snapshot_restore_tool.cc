// snapshot_restore: brings the files of the workspace back to those of a snapshot.
#include <mutex>

#include <fmt/format.h>

#include "snapshots/restore.h"
#include "tools/snapshot_call.h"
#include "tools/tool.h"
#include "tools/walk_notes.h"

namespace polybox::tools {
namespace {

struct RestoreArguments {
  std::string name;

  static constexpr auto Members() {
    return std::tuple(json::Required("name", &RestoreArguments::name));
  }
};

struct RestoreResult {
  std::string name = {};
  std::vector<ChangedFile> files = {};
  std::vector<PathReason> kept = {};

  static constexpr auto Members() {
    return std::tuple(
        json::Required("name", &RestoreResult::name),
        json::Required("files", &RestoreResult::files, "All that were changed"),
        json::Required("kept", &RestoreResult::kept, "What still differs from the snapshot"));
  }
};

std::string Text(const RestoreResult& result) {
  std::string text;
  if (result.files.empty()) {
    text = fmt::format("restored snapshot {} (no files changed)\n", result.name);
  } else {
    text = fmt::format("restored snapshot {} ({} file(s) changed):\n", result.name,
                       result.files.size());
  }
  for (const ChangedFile& file : result.files) text += file.path + "\n";
  text += ReasonLines(fmt::format("not restored ({}):", result.kept.size()), result.kept);
  return WithoutOnlyLineEnd(std::move(text));
}

Result<RestoreResult> Restore(const Context& context, const RestoreArguments& arguments) {
  POLYBOX_ASSIGN_OR_RETURN(const SnapshotCall call,
                           SnapshotCall::Begin(context, {.workspace = Purpose::kWrite}));
  POLYBOX_ASSIGN_OR_RETURN(const snapshots::Snapshot snapshot, call.Find(arguments.name));
  POLYBOX_ASSIGN_OR_RETURN(
      const snapshots::Contents saved,
      snapshots::ReadTrees(call.store()->objects(), snapshot.tree).In("read-tree"));
  const std::lock_guard lock(call.workspace().writes());
  POLYBOX_ASSIGN_OR_RETURN(
      const snapshots::Scan present,
      snapshots::ScanFiles(call.workspace(), nullptr, context.stop).In("inventory pre-restore"));
  POLYBOX_ASSIGN_OR_RETURN(const snapshots::RestoreReport report,
                           snapshots::Restore({.workspace = call.workspace(),
                                               .objects = call.store()->objects(),
                                               .target = saved.files,
                                               .present = present,
                                               .stop = context.stop}));
  RestoreResult result = {.name = snapshot.name, .files = DataOf(report.changed)};
  for (const snapshots::RestoreReport::Kept& each : report.kept) {
    result.kept.push_back({ShownPath(each.path), ShownPath(each.why)});
  }
  return result;
}

}  // namespace

Tool SnapshotRestoreTool() {
  return MakeTool<RestoreArguments, RestoreResult>(
      {.name = "snapshot_restore",
       .title = "Go back to a snapshot",
       .description = "Makes the files of the workspace those of a snapshot: writes, removes and "
                      "lists every file that differs. Ignored and protected files stay.",
       .group = "snapshots",
       .annotations =
           {.read_only = false, .destructive = true, .idempotent = true, .open_world = false}},
      Restore);
}

}  // namespace polybox::tools
