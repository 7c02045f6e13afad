// Mounts parts of the host's file tree in the slot's root. Used by root.cc in the slot init.
#pragma once

#include <span>
#include <string>

#include "base/unique_fd.h"
#include "jail/init/network.h"
#include "jail/init/protocol.h"

namespace polybox::jail::init {

/// The new root is assembled over /proc, a directory that every host has. The current directory is
/// the new root, and all targets are relative to it. So the same path works before and after the
/// pivot.
inline constexpr const char* kAssembly = "/proc";

/// What the operations take their content from; all borrowed.
struct Sources {
  /// The detached mounts that the server sent, borrowed.
  std::span<const int> trees;
  int host_proc;
  Network& network;
  /// A directory under the new root, where trees are prepared. It disappears with the old root.
  UniqueFd stage = {};
};

/// Makes the stage, before the new root exists. Returns 0 or an errno, as the following functions
/// do.
int OpenStage(UniqueFd& stage);
/// Executes a kStage operation.
int StageTree(const Operation& operation, const Sources& sources);
/// Executes a kBind operation. `shared` becomes the reason when the host's own inodes are shown
/// although other inodes were requested.
int ShowTree(const Operation& operation, const Sources& sources, int& shared);

}  // namespace polybox::jail::init
