// Move: gives a file or directory another path in the same workspace.
#include <mutex>

#include <fmt/format.h>

#include "tools/file_target.h"
#include "tools/tool.h"
#include "workspace/put_file.h"
#include "workspace/remove_entry.h"
#include "workspace/system_text.h"

namespace polybox::tools {
namespace {

using workspace::LastLink;
using workspace::Place;

struct MoveArguments {
  std::string source;
  std::string destination;

  static constexpr auto Members() {
    return std::tuple(
        json::Required("source", &MoveArguments::source, "Absolute, or from the workspace"),
        json::Required("destination", &MoveArguments::destination, "The new path itself"));
  }
};

struct MoveResult {
  MoveArguments asked;
  std::string source = {};
  std::string destination = {};

  static constexpr auto Members() {
    return std::tuple(json::Required("source", &MoveResult::source, "From the workspace"),
                      json::Required("destination", &MoveResult::destination));
  }
};

std::string Text(const MoveResult& result) {
  return fmt::format("moved {} to {}", result.asked.source, result.asked.destination);
}

/// Fails if anything that moves is protected where it is or where it would be.
Status RefuseProtectedTree(const WorkspaceCall& call, const MoveArguments& arguments,
                           const Place& from, const Place& to) {
  return workspace::CheckTree(from, [&](const std::string& path) -> Status {
    POLYBOX_RETURN_IF_ERROR(RefuseProtected(call, path, "move", arguments.source));
    const std::string moved = to.path + path.substr(from.path.size());
    return RefuseProtected(call, moved, "move to", arguments.destination);
  });
}

/// Moves the entry, and makes the directories that are missing.
Status Rename(const WorkspaceCall& call, const MoveArguments& arguments, const Place& from,
              const Place& to) {
  const std::string shown = call.Absolute(to);
  POLYBOX_ASSIGN_OR_RETURN(workspace::NewDirectories directories,
                           workspace::NewDirectories::Make(to, shown));
  const Status moved = workspace::MoveEntry(from, directories.innermost(), to.name);
  if (moved.ok()) {
    directories.Keep();
    return {};
  }
  if (moved.error().system_errno() == EEXIST) {
    return Error(ErrorKind::kInvalid, fmt::format("destination exists: {}", arguments.destination))
        .WithFix("Delete it first, or choose another path");
  }
  return workspace::CallError("rename", shown, moved.error().system_errno()).In("move");
}

Result<MoveResult> Move(const Context& context, const MoveArguments& arguments) {
  if (arguments.source.empty()) return Error(ErrorKind::kInvalid, "source is required");
  if (arguments.destination.empty()) return Error(ErrorKind::kInvalid, "destination is required");
  POLYBOX_ASSIGN_OR_RETURN(const WorkspaceCall call,
                           WorkspaceCall::Begin(context, Purpose::kWrite));
  const std::lock_guard lock(call.workspace().writes());
  POLYBOX_ASSIGN_OR_RETURN(const Place from, call.Locate(arguments.source, LastLink::kKeep));
  POLYBOX_ASSIGN_OR_RETURN(const Place to, call.Locate(arguments.destination, LastLink::kKeep));
  if (from.IsRoot() || to.IsRoot()) {
    return Error(ErrorKind::kInvalid, "move: the root of the workspace stays where it is");
  }
  const Result<struct stat> state = workspace::StateOf(from);
  if (!state.ok()) return StatError(call, from, state.error().system_errno());
  POLYBOX_RETURN_IF_ERROR(RefuseProtectedTree(call, arguments, from, to));
  POLYBOX_RETURN_IF_ERROR(Rename(call, arguments, from, to));
  // A caller that has read the file at the old path need not read the file again at the new one.
  const auto seen = call.workspace().reads().Find(context.principal, from.path);
  if (seen) MarkSeen(context, call, to.path, *seen);
  return MoveResult{arguments, from.path, to.path};
}

}  // namespace

Tool MoveTool() {
  return MakeTool<MoveArguments, MoveResult>(
      {.name = "Move",
       .title = "Move or rename",
       .description = "Moves or renames a file or directory, and makes missing directories. Never "
                      "replaces anything.",
       .group = "core",
       .annotations =
           {.read_only = false, .destructive = false, .idempotent = false, .open_world = false}},
      Move);
}

}  // namespace polybox::tools
