#include "tools/file_target.h"

#include <cerrno>
#include <fcntl.h>
#include <optional>

#include <fmt/format.h>

#include "base/files.h"
#include "base/printable.h"
#include "workspace/system_text.h"
#include "workspace/workspace_set.h"

namespace polybox::tools {
namespace {

using workspace::Place;

/// A link that appears between the resolution and the opening makes the opening fail. Another
/// process that does this more often in a row means it.
constexpr int kAttempts = 8;
constexpr std::size_t kShownPath = 4096;

std::string_view KindOf(mode_t mode) {
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  return S_ISLNK(mode) ? "a link that changes" : "a device";
}

Status RequirePlainFile(mode_t mode, std::string_view argument) {
  if (S_ISREG(mode)) return {};
  if (S_ISDIR(mode)) {
    return Error(ErrorKind::kInvalid, fmt::format("path is a directory: {}", argument));
  }
  return Error(ErrorKind::kInvalid,
               fmt::format("path is not a regular file: {} is {}", argument, KindOf(mode)));
}

/// Opens the file once. Returns nothing if the entry has just become a link.
Result<std::optional<OpenFile>> TryToOpen(const WorkspaceCall& call, std::string_view argument) {
  POLYBOX_ASSIGN_OR_RETURN(Place place, call.Locate(argument));
  const Result<struct stat> state = workspace::StateOf(place);
  if (!state.ok()) return StatError(call, place, state.error().system_errno());
  if (S_ISLNK(state->st_mode)) return std::optional<OpenFile>();
  // Not left to the check after the opening: to open a device can have effects.
  POLYBOX_RETURN_IF_ERROR(RequirePlainFile(state->st_mode, argument));
  Result<UniqueFd> fd = workspace::OpenAt(place, O_RDONLY);
  if (!fd.ok()) {
    const int error = fd.error().system_errno();
    if (error == ELOOP) return std::optional<OpenFile>();
    return workspace::CallError("open", call.Absolute(place), error).In("read");
  }
  OpenFile file{std::move(place), std::move(fd).value()};
  if (::fstat(file.fd.get(), &file.info) != 0) return StatError(call, file.place, errno);
  POLYBOX_RETURN_IF_ERROR(RequirePlainFile(file.info.st_mode, argument));
  return std::optional(std::move(file));
}

}  // namespace

Result<WorkspaceCall> WorkspaceCall::Begin(const Context& context, Purpose purpose) {
  if (context.workspaces == nullptr) {
    return Error(ErrorKind::kInvalid, "no workspace configured (BUG)");
  }
  POLYBOX_ASSIGN_OR_RETURN(workspace::Workspace * found,
                           context.workspaces->Find(context.workspace));
  if (purpose == Purpose::kWrite && found->access() == workspace::Access::kReadOnly) {
    return Error(ErrorKind::kInvalid, fmt::format("workspace \"{}\" is read-only",
                                                  Printable(found->name(), kShownPath)));
  }
  POLYBOX_ASSIGN_OR_RETURN(workspace::ActAsOwner acting,
                           workspace::ActAsOwner::Begin(found->owner()));
  return WorkspaceCall(found, std::move(acting));
}

Result<Place> WorkspaceCall::Locate(std::string_view argument,
                                    workspace::LastLink last_link) const {
  return workspace::Resolve(workspace_->root(), argument, last_link).In("resolve path");
}

Error StatError(const WorkspaceCall& call, const Place& place, int system_errno) {
  return workspace::CallError("stat", call.Absolute(place), system_errno).In("stat");
}

Result<OpenFile> OpenPlainFile(const WorkspaceCall& call, std::string_view argument) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    POLYBOX_ASSIGN_OR_RETURN(std::optional<OpenFile> file, TryToOpen(call, argument));
    if (file) return std::move(*file);
  }
  return RequirePlainFile(S_IFLNK, argument).error();
}

Result<std::string> ReadWhole(const OpenFile& file, std::string_view argument) {
  Result<std::string> content = ReadAll(file.fd.get(), kLargestEdited);
  if (content.ok()) return content;
  if (content.error().system_errno() != 0) {
    return workspace::CallError("read", argument, content.error().system_errno()).In("read");
  }
  return Error(ErrorKind::kInvalid,
               fmt::format("read: {} has {} bytes; files over {} are not edited", argument,
                           file.info.st_size, FormatBytes(kLargestEdited)));
}

Status RefuseProtected(const WorkspaceCall& call, const std::string& path, std::string_view intent,
                       std::string_view argument) {
  const workspace::ProtectedPath* row = call.workspace().protection().Find(path);
  if (row == nullptr) return {};
  return Error(ErrorKind::kInvalid,
               fmt::format("refusing to {} {}: {} is protected, because {}", intent, argument,
                           Printable(path, kShownPath), row->reason))
      .WithFix(
          "ask the user to make this change; the setting protected-paths says what is protected");
}

Status RequireSeen(const Context& context, const WorkspaceCall& call, const std::string& path,
                   const workspace::ContentHash& content, std::string_view refusal) {
  const std::optional<workspace::ContentHash> seen =
      call.workspace().reads().Find(context.principal, path);
  if (seen == content) return {};
  return Error(
      ErrorKind::kInvalid,
      fmt::format("{}: {}", refusal,
                  seen ? "it has changed since it was read; Read it again" : "Read it first"));
}

void MarkSeen(const Context& context, const WorkspaceCall& call, const std::string& path,
              const workspace::ContentHash& content) {
  call.workspace().reads().Mark(context.principal, path, content);
}

}  // namespace polybox::tools
