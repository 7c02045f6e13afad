// snapshot_create: saves the files of the workspace under a name.
#include <fmt/format.h>

#include "base/printable.h"
#include "tools/snapshot_call.h"
#include "tools/tool.h"
#include "tools/walk_notes.h"

namespace polybox::tools {
namespace {

using snapshots::Snapshot;
using snapshots::SnapshotStore;

/// One line in a list.
constexpr std::size_t kLongestDescription = 500;

struct CreateArguments {
  std::string name;
  std::string description = {};
  bool overwrite = false;

  static constexpr auto Members() {
    return std::tuple(json::Required("name", &CreateArguments::name),
                      json::Optional("description", &CreateArguments::description, "One line"),
                      json::Optional("overwrite", &CreateArguments::overwrite,
                                     "Replace the snapshot that has the name"));
  }
};

struct CreateResult {
  std::string name = {};
  std::string commit = {};
  std::int64_t files = 0;
  std::vector<PathReason> left_out = {};
  std::vector<std::string> notes = {};

  static constexpr auto Members() {
    return std::tuple(json::Required("name", &CreateResult::name),
                      json::Required("commit", &CreateResult::commit),
                      json::Required("files", &CreateResult::files),
                      json::Required("left_out", &CreateResult::left_out, "Not saved"),
                      json::Required("notes", &CreateResult::notes));
  }
};

std::string Text(const CreateResult& result) {
  return WithoutOnlyLineEnd(
      fmt::format("snapshot {} created: {}\n", result.name, result.commit) +
      ReasonLines(fmt::format("not saved ({}):", result.left_out.size()), result.left_out) +
      NoteLines(result.notes));
}

/// Returns the first line of a commit: git shows it in lists.
std::string MessageOf(const CreateArguments& arguments) {
  if (arguments.description.empty()) return "snapshot " + arguments.name;
  return Printable(arguments.description, kLongestDescription);
}

Result<CreateResult> Create(const Context& context, const CreateArguments& arguments) {
  POLYBOX_RETURN_IF_ERROR(snapshots::CheckName(arguments.name));
  POLYBOX_ASSIGN_OR_RETURN(const SnapshotCall call,
                           SnapshotCall::Begin(context, {.store = SnapshotStore::Use::kWrite,
                                                         .workspace = Purpose::kWrite}));
  const SnapshotStore& store = *call.store();
  std::optional<snapshots::ObjectId> previous;
  if (store.Has(arguments.name)) {
    if (!arguments.overwrite) {
      return Error(ErrorKind::kInvalid, fmt::format("snapshot \"{}\" exists", arguments.name))
          .WithFix("choose another name, or overwrite=true replaces it");
    }
    if (const Result<Snapshot> old = store.Find(arguments.name); old.ok()) previous = old->commit;
  }
  const auto keep = [&](const snapshots::ObjectId& id, std::string_view content) {
    return store.objects().Put(snapshots::ObjectType::kBlob, id, content);
  };
  POLYBOX_ASSIGN_OR_RETURN(
      const snapshots::Scan scan,
      snapshots::ScanFiles(call.workspace(), keep, context.stop).In("snapshot add"));
  POLYBOX_ASSIGN_OR_RETURN(
      const Snapshot made,
      store.Add(arguments.name, MessageOf(arguments), scan.files).In("commit-tree"));
  CreateResult result = {.name = made.name,
                         .commit = snapshots::Hex(made.commit),
                         .files = static_cast<std::int64_t>(scan.files.size()),
                         .left_out = DataOf(scan.left_out)};
  call.Show(made, previous, result.notes);
  if (arguments.overwrite) {
    if (const Status removed = store.RemoveUnused(); !removed.ok()) {
      result.notes.push_back("what only the old snapshot held stays: " + removed.error().message());
    }
  }
  return result;
}

}  // namespace

Tool SnapshotCreateTool() {
  return MakeTool<CreateArguments, CreateResult>(
      {.name = "snapshot_create",
       .title = "Save the workspace",
       .description = "Saves all files of the workspace under a name, except ignored ones. Changes "
                      "no branch and no index.",
       .group = "snapshots",
       .annotations =
           {.read_only = false, .destructive = false, .idempotent = false, .open_world = false}},
      Create);
}

}  // namespace polybox::tools
