// What all file tools do with their arguments. They find the workspace, act as its owner, resolve a
// path, open a plain file, and refuse what must not be changed. The words of the errors are a
// contract: agents know them. Any thread; the objects belong to one call.
#pragma once

#include <string>
#include <string_view>

#include <sys/stat.h>

#include "base/result.h"
#include "base/unique_fd.h"
#include "base/units.h"
#include "tools/context.h"
#include "workspace/act_as_owner.h"
#include "workspace/content_hash.h"
#include "workspace/resolve.h"
#include "workspace/workspace.h"

namespace polybox::tools {

/// Larger files are not edited: an edit holds the content several times in memory.
inline constexpr Bytes kLargestEdited = Bytes::MiB(32);

enum class Purpose { kRead, kWrite };

/// The workspace of a call. While it exists, the thread accesses files as the workspace's owner.
class WorkspaceCall {
 public:
  /// Fails if the call names no workspace, or if it would write in one that is read-only.
  static Result<WorkspaceCall> Begin(const Context& context, Purpose purpose);

  workspace::Workspace& workspace() const { return *workspace_; }
  /// Finds the place of a path. Fails with "resolve path: ...".
  Result<workspace::Place> Locate(
      std::string_view argument,
      workspace::LastLink last_link = workspace::LastLink::kFollow) const;
  /// Returns the absolute path of a place, for messages.
  std::string Absolute(const workspace::Place& place) const {
    return workspace::AbsolutePath(workspace_->root(), place);
  }

 private:
  WorkspaceCall(workspace::Workspace* workspace, workspace::ActAsOwner acting)
      : workspace_(workspace), acting_(std::move(acting)) {}

  workspace::Workspace* workspace_;
  workspace::ActAsOwner acting_;
};

/// A plain file that is open for reading.
struct OpenFile {
  workspace::Place place;
  UniqueFd fd;
  struct stat info{};
};

/// Opens a plain file. Fails with "resolve path: ...", "stat: ...", "path is a directory: ..." or
/// "path is not a regular file: ...". Never waits for a FIFO or a device.
Result<OpenFile> OpenPlainFile(const WorkspaceCall& call, std::string_view argument);

/// Reads all of the file. Fails with "read: ..." if it is larger than kLargestEdited.
Result<std::string> ReadWhole(const OpenFile& file, std::string_view argument);

/// Returns the error "stat: stat PATH: ...".
Error StatError(const WorkspaceCall& call, const workspace::Place& place, int system_errno);

/// Fails if `path` (resolved) is protected. `intent` is what the tool would do: "write".
Status RefuseProtected(const WorkspaceCall& call, const std::string& path, std::string_view intent,
                       std::string_view argument);

/// Fails unless the caller has seen this content of the file: "refusing to edit X: Read it first".
Status RequireSeen(const Context& context, const WorkspaceCall& call, const std::string& path,
                   const workspace::ContentHash& content, std::string_view refusal);

/// Records that the caller has seen this content of the file.
void MarkSeen(const Context& context, const WorkspaceCall& call, const std::string& path,
              const workspace::ContentHash& content);

}  // namespace polybox::tools
