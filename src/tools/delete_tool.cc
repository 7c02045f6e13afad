// Delete: removes a file, a link, or a directory with its contents.
#include <mutex>

#include <fmt/format.h>

#include "tools/file_target.h"
#include "tools/tool.h"
#include "workspace/remove_entry.h"

namespace polybox::tools {
namespace {

struct DeleteArguments {
  std::string path;
  bool recursive = false;

  static constexpr auto Members() {
    return std::tuple(
        json::Required("path", &DeleteArguments::path, "Absolute, or from the workspace"),
        json::Optional("recursive", &DeleteArguments::recursive, "A directory with its contents"));
  }
};

struct DeleteResult {
  std::string asked = {};
  std::string path = {};
  std::int64_t files = 0;
  std::int64_t directories = 0;

  static constexpr auto Members() {
    return std::tuple(json::Required("path", &DeleteResult::path, "From the workspace"),
                      json::Required("files", &DeleteResult::files),
                      json::Required("directories", &DeleteResult::directories));
  }
};

/// Names the counts only for a directory. For a file they say nothing.
std::string Text(const DeleteResult& result) {
  if (result.directories == 0) return fmt::format("deleted {}", result.asked);
  return fmt::format("deleted {} ({} files, {} directories)", result.asked, result.files,
                     result.directories);
}

/// Deletes under the lock of all writes, so that no other tool of polybox changes the tree
/// meanwhile. Programs of the agent can still do so.
Result<DeleteResult> Delete(const Context& context, const DeleteArguments& arguments) {
  if (arguments.path.empty()) return Error(ErrorKind::kInvalid, "path is required");
  POLYBOX_ASSIGN_OR_RETURN(const WorkspaceCall call,
                           WorkspaceCall::Begin(context, Purpose::kWrite));
  const std::lock_guard lock(call.workspace().writes());
  POLYBOX_ASSIGN_OR_RETURN(const workspace::Place place,
                           call.Locate(arguments.path, workspace::LastLink::kKeep));
  if (place.IsRoot()) {
    return Error(ErrorKind::kInvalid, "delete: the root of the workspace stays");
  }
  const Result<struct stat> state = workspace::StateOf(place);
  if (!state.ok()) return StatError(call, place, state.error().system_errno());
  if (S_ISDIR(state->st_mode) && !arguments.recursive) {
    return Error(ErrorKind::kInvalid, fmt::format("path is a directory: {}", arguments.path))
        .WithFix("recursive=true deletes it with its contents");
  }
  const workspace::MayRemove check = [&](const std::string& path) {
    return RefuseProtected(call, path, "delete", arguments.path);
  };
  // The whole tree is checked before anything is removed: a protected path inside keeps all of it.
  // RemoveTree() checks again, because the tree may have changed.
  POLYBOX_RETURN_IF_ERROR(workspace::CheckTree(place, check));
  Result<workspace::Removed> removed = workspace::RemoveTree(place, check);
  if (!removed.ok()) return std::move(removed).error().In("delete");
  return DeleteResult{.asked = arguments.path,
                      .path = place.path,
                      .files = static_cast<std::int64_t>(removed->files),
                      .directories = static_cast<std::int64_t>(removed->directories)};
}

}  // namespace

Tool DeleteTool() {
  return MakeTool<DeleteArguments, DeleteResult>(
      {.name = "Delete",
       .title = "Delete a file or directory",
       .description =
           "Deletes a file or a link; with recursive also a directory. Cannot be undone.",
       .group = "core",
       .annotations =
           {.read_only = false, .destructive = true, .idempotent = true, .open_world = false}},
      Delete);
}

}  // namespace polybox::tools
