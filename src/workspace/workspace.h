// A directory in which an agent works. File tools reach files only below it. The directory is
// opened once: if it is renamed or replaced later, the tools still work in the same directory. Any
// thread.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"
#include "workspace/act_as_owner.h"
#include "workspace/protected_paths.h"
#include "workspace/read_tracker.h"
#include "workspace/resolve.h"

namespace polybox::workspace {

enum class Access {
  kReadWrite,
  kReadOnly,  ///< No tool writes anything in the workspace.
};

/// What happens to a protected file that a command makes.
enum class CreatedFiles {
  kMoveAside,
  kReport,  ///< It stays, and the answer says so.
};

struct WorkspaceOptions {
  Access access = Access::kReadWrite;
  ProtectedPaths protection = {};
  CreatedFiles created = CreatedFiles::kMoveAside;
};

class Workspace {
 public:
  /// Opens the directory `path`, which must be absolute. Fails with "workspace root ...".
  static Result<std::unique_ptr<Workspace>> Open(std::string name, const std::string& path,
                                                 const WorkspaceOptions& options);

  const std::string& name() const { return name_; }
  /// The absolute path without links.
  const std::string& path() const { return path_; }
  Access access() const { return options_.access; }
  /// The user to whom the directory belonged when it was opened.
  const Owner& owner() const { return owner_; }
  const ProtectedPaths& protection() const { return options_.protection; }
  CreatedFiles created() const { return options_.created; }
  /// For Resolve(). Valid as long as the workspace.
  Root root() const { return {directory_.get(), path_, spelled_}; }

  ReadTracker& reads() { return reads_; }
  /// Held while a tool compares a file with what the caller has seen and replaces it. Two edits of
  /// one file at the same time would otherwise lose one of them. No other lock is taken under it,
  /// except the one of reads().
  std::mutex& writes() { return writes_; }

 private:
  Workspace(std::string name, const WorkspaceOptions& options)
      : name_(std::move(name)), options_(options) {}

  const std::string name_;
  const WorkspaceOptions options_;
  std::string path_;
  std::string spelled_;
  UniqueFd directory_;
  Owner owner_;
  ReadTracker reads_;
  std::mutex writes_;
};

}  // namespace polybox::workspace
