// What polybox keeps of a workspace in its cache directory: the home of the workspace's commands,
// the changes that they made to package caches, and a file with the user's name for git. It
// outlives the server. Any thread; two servers may use the same workspace.
//
//   CACHE/workspaces/HASH/home        HOME of the commands; they can write everything in it
//   CACHE/workspaces/HASH/gitconfig   read-only for commands
//   CACHE/workspaces/HASH/changes-N/  changes to package caches, of the server that holds its lock
//   CACHE/workspaces/HASH/snapshots/  see snapshots/snapshot_store.h
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "workspace/workspace.h"

namespace polybox::machine {

class State {
 public:
  /// Makes the directories in `cache_dir`, which must be absolute. Fails if the workspace contains
  /// the cache directory: commands could then write to everything that polybox keeps.
  static Result<State> Open(const workspace::Workspace& workspace, const std::string& cache_dir);

  /// The home; a directory of the owner of the workspace.
  std::string home() const { return directory_ + "/home"; }
  std::string git_config() const { return directory_ + "/gitconfig"; }
  /// Makes the directory `path` in the home, with those above it. Follows no link: fails if a
  /// command has put something else there.
  Status MakeInHome(const std::string& path) const;
  /// Returns a directory for the changes of the cache `name`, with the directories `upper` and
  /// `work` for an overlay. No other server uses it as long as this object lives.
  Result<std::string> ChangesOf(const std::string& name);
  /// Writes the configuration that tells git the user's name and address.
  Status WriteGitConfig(const std::string& content) const;

 private:
  State(std::string directory, const workspace::Owner& owner)
      : directory_(std::move(directory)), owner_(owner) {}

  /// Takes the lock of the first directory of changes that no server holds.
  Status LockChanges();
  /// Makes a directory that belongs to the owner. The directory above it is polybox's own.
  Status MakeOwned(const std::string& path) const;

  std::string directory_;
  workspace::Owner owner_;
  std::string changes_;
  UniqueFd lock_;
};

}  // namespace polybox::machine
