// snapshot_diff: what has changed since a snapshot. Writes nothing anywhere.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "snapshots/text_diff.h"
#include "tools/budget.h"
#include "tools/snapshot_call.h"
#include "tools/tool.h"
#include "tools/walk_notes.h"

namespace polybox::tools {
namespace {

using snapshots::Change;
using snapshots::FileMap;
using snapshots::FileState;
using snapshots::ObjectId;

/// New contents are held in memory until they are compared. Beyond this only names are shown.
constexpr std::size_t kMostHeld = 64U << 20U;
/// Longer contents are not compared: no reader wants the result.
constexpr std::size_t kLongestCompared = 8U << 20U;

struct DiffArguments {
  std::string name;
  std::string path = {};

  static constexpr bool kTakesBudget = true;
  static constexpr auto Members() {
    return std::tuple(json::Required("name", &DiffArguments::name),
                      json::Optional("path", &DiffArguments::path, "Only this file or directory"));
  }
};

struct DiffResult {
  std::vector<ChangedFile> files = {};
  std::string diff = {};
  std::vector<PathReason> left_out = {};
  std::vector<std::string> notes = {};

  static constexpr auto Members() {
    return std::tuple(
        json::Required("files", &DiffResult::files, "All that differ from the snapshot"),
        json::Required("diff", &DiffResult::diff),
        json::Required("left_out", &DiffResult::left_out, "In no snapshot"),
        json::Required("notes", &DiffResult::notes));
  }
};

std::string Text(const DiffResult& result) {
  return WithoutOnlyLineEnd(
      (result.files.empty() ? "no differences\n" : result.diff) +
      ReasonLines(fmt::format("in no snapshot ({}):", result.left_out.size()), result.left_out) +
      NoteLines(result.notes));
}

/// Contents of the workspace that the snapshot does not hold.
struct NewContents {
  std::set<ObjectId> known;
  std::map<ObjectId, std::string> contents = {};
  std::size_t held = 0;

  Status Take(const ObjectId& id, std::string_view content) {
    if (known.contains(id) || contents.contains(id)) return {};
    if (content.size() > kLongestCompared || held + content.size() > kMostHeld) return {};
    held += content.size();
    contents.emplace(id, content);
    return {};
  }
};

/// Returns the text of a content; nothing if it is too long.
Result<std::optional<std::string>> ContentOf(const snapshots::ObjectStore& objects,
                                             const NewContents& fresh,
                                             const std::optional<FileState>& state) {
  if (!state) return std::optional<std::string>("");
  const auto found = fresh.contents.find(state->id);
  if (found != fresh.contents.end()) return std::optional(found->second);
  if (!fresh.known.contains(state->id)) return std::optional<std::string>();
  POLYBOX_ASSIGN_OR_RETURN(std::string content,
                           objects.Get(snapshots::ObjectType::kBlob, state->id));
  if (content.size() > kLongestCompared) return std::optional<std::string>();
  return std::optional(std::move(content));
}

Result<std::string> DiffOf(const Change& change, const snapshots::ObjectStore& objects,
                           const NewContents& fresh) {
  std::string text = snapshots::DiffHeader(change);
  if (change.kind == snapshots::ChangeKind::kMode) return text;
  POLYBOX_ASSIGN_OR_RETURN(const std::optional<std::string> before,
                           ContentOf(objects, fresh, change.before));
  POLYBOX_ASSIGN_OR_RETURN(const std::optional<std::string> after,
                           ContentOf(objects, fresh, change.after));
  const std::string old_path =
      change.before ? snapshots::QuotedPath("a/", change.path) : "/dev/null";
  const std::string new_path =
      change.after ? snapshots::QuotedPath("b/", change.path) : "/dev/null";
  if (!before || !after) {
    return text + fmt::format("Files {} and {} differ (too long to show)\n", old_path, new_path);
  }
  if (snapshots::IsBinary(*before) || snapshots::IsBinary(*after)) {
    return text + fmt::format("Binary files {} and {} differ\n", old_path, new_path);
  }
  if (*before == *after) return text;
  return text + fmt::format("--- {}\n+++ {}\n", old_path, new_path) +
         snapshots::Hunks(*before, *after);
}

/// Fills the text of the result. Files beyond the budget are named only.
Status Describe(const std::vector<Change>& changes, const snapshots::ObjectStore& objects,
                const NewContents& fresh, std::int64_t budget_tokens, DiffResult& result) {
  Budget budget(budget_tokens);
  std::vector<std::string> named;
  for (const Change& change : changes) {
    std::string text;
    if (!budget.spent()) {
      POLYBOX_ASSIGN_OR_RETURN(text, DiffOf(change, objects, fresh));
    }
    if (budget.Take(text.size())) {
      result.diff += text;
    } else {
      named.push_back(ShownPath(change.path));
    }
  }
  if (named.empty()) return {};
  result.diff += fmt::format("changed too, not shown ({}):\n", named.size());
  for (const std::string& path : named) result.diff += "  " + path + "\n";
  result.notes.emplace_back("path shows the differences of one file or directory");
  return {};
}

/// Removes what is not at or below `path`.
void Select(const std::string& path, std::vector<Change>& changes) {
  if (path.empty()) return;
  std::erase_if(changes, [&](const Change& change) {
    return change.path != path && !change.path.starts_with(path + "/");
  });
}

/// Returns the argument as a path of the workspace without links, "" for all of it.
Result<std::string> PathOf(const SnapshotCall& call, const std::string& argument) {
  if (argument.empty()) return std::string();
  POLYBOX_ASSIGN_OR_RETURN(
      const workspace::Place place,
      workspace::Resolve(call.workspace().root(), argument, workspace::LastLink::kKeep)
          .In("resolve path"));
  return place.path;
}

/// A file that can no longer be saved, for example because it is too large, counts as changed and
/// not as removed.
void MarkLeftOut(const snapshots::Scan& scan, std::vector<Change>& changes) {
  std::erase_if(changes, [&](const Change& change) {
    const auto* left_out = change.after ? nullptr : scan.FindLeftOut(change.path);
    return left_out != nullptr && left_out->first != change.path;
  });
  for (Change& change : changes) {
    if (!change.after && scan.left_out.contains(change.path)) {
      change.kind = snapshots::ChangeKind::kContent;
      change.after = FileState{change.before->mode, ObjectId{}};
    }
  }
}

Result<DiffResult> Diff(const Context& context, const DiffArguments& arguments) {
  POLYBOX_ASSIGN_OR_RETURN(const SnapshotCall call, SnapshotCall::Begin(context, {}));
  POLYBOX_ASSIGN_OR_RETURN(const snapshots::Snapshot snapshot, call.Find(arguments.name));
  POLYBOX_ASSIGN_OR_RETURN(const std::string path, PathOf(call, arguments.path));
  const snapshots::ObjectStore& objects = call.store()->objects();
  POLYBOX_ASSIGN_OR_RETURN(const snapshots::Contents saved,
                           snapshots::ReadTrees(objects, snapshot.tree));
  NewContents fresh;
  for (const auto& [file, state] : saved.files) fresh.known.insert(state.id);
  POLYBOX_ASSIGN_OR_RETURN(
      const snapshots::Scan scan,
      snapshots::ScanFiles(
          call.workspace(),
          [&](const ObjectId& id, std::string_view content) { return fresh.Take(id, content); },
          context.stop)
          .In("diff"));
  std::vector<Change> changes = snapshots::Compare(saved.files, scan.files);
  MarkLeftOut(scan, changes);
  Select(path, changes);
  DiffResult result = {.files = DataOf(changes), .left_out = DataOf(scan.left_out)};
  POLYBOX_RETURN_IF_ERROR(Describe(changes, objects, fresh, context.budget_tokens, result));
  return result;
}

}  // namespace

Tool SnapshotDiffTool() {
  return MakeTool<DiffArguments, DiffResult>(
      {.name = "snapshot_diff",
       .title = "Compare with a snapshot",
       .description = "Shows what has changed since a snapshot, as a unified diff.",
       .group = "snapshots",
       .annotations =
           {.read_only = true, .destructive = false, .idempotent = true, .open_world = false}},
      Diff);
}

}  // namespace polybox::tools
