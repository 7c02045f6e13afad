#include "tools/whole_file.h"

#include <cerrno>
#include <optional>
#include <utility>

#include "workspace/put_file.h"

namespace polybox::tools {
namespace {

/// Where a content goes.
struct Target {
  workspace::Place place;
  /// Absent for a new file.
  std::optional<OpenFile> file = {};
  std::string old_content = {};
};

std::string RefusalOf(const std::string& argument) {
  return "refusing to overwrite " + argument;
}

/// Finds the target, and refuses what may not be written.
Result<Target> FindTarget(const Context& context, const WorkspaceCall& call,
                          const std::string& argument) {
  Target target;
  POLYBOX_ASSIGN_OR_RETURN(target.place, call.Locate(argument));
  POLYBOX_RETURN_IF_ERROR(RefuseProtected(call, target.place.path, "write", argument));
  const Result<struct stat> state = workspace::StateOf(target.place);
  if (!state.ok() && state.error().system_errno() == ENOENT) return target;
  POLYBOX_ASSIGN_OR_RETURN(target.file, OpenPlainFile(call, argument));
  const std::string& path = target.file->place.path;
  // Another process may have put a link there since the first look.
  POLYBOX_RETURN_IF_ERROR(RefuseProtected(call, path, "write", argument));
  POLYBOX_ASSIGN_OR_RETURN(target.old_content, ReadWhole(*target.file, argument));
  POLYBOX_RETURN_IF_ERROR(
      RequireSeen(context, call, path, workspace::HashOf(target.old_content), RefusalOf(argument)));
  return target;
}

}  // namespace

Result<WrittenFile> WriteWholeFile(const Context& context, const WorkspaceCall& call,
                                   const std::string& argument, const ContentFor& content) {
  POLYBOX_ASSIGN_OR_RETURN(const Target target, FindTarget(context, call, argument));
  const workspace::Place& place = target.file ? target.file->place : target.place;
  const std::string made = content(target.file ? &target.old_content : nullptr);
  if (target.file) {
    POLYBOX_RETURN_IF_ERROR(
        workspace::ReplaceContent(place, call.Absolute(place), target.file->fd.get(), made));
  } else {
    const Status created = workspace::CreateFile(place, call.Absolute(place), made);
    if (!created.ok() && created.error().system_errno() == EEXIST) {
      return Error(ErrorKind::kInvalid, RefusalOf(argument) + ": Read it first");
    }
    POLYBOX_RETURN_IF_ERROR(created);
  }
  MarkSeen(context, call, place.path, workspace::HashOf(made));
  return WrittenFile{
      .path = place.path, .bytes = static_cast<std::int64_t>(made.size()), .created = !target.file};
}

Status CheckWholeFile(const Context& context, const WorkspaceCall& call,
                      const std::string& argument) {
  const Result<Target> target = FindTarget(context, call, argument);
  return target.ok() ? Status() : Status(target.error());
}

}  // namespace polybox::tools
