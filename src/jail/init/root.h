// Builds the slot's root file system from the operations of the plan. Runs once in the slot init.
#pragma once

#include <span>
#include <string>

#include "jail/init/network.h"
#include "jail/init/step_result.h"

namespace polybox::jail::init {

/// Executes the operations of `setup`. An operation that could not give the slot something of its
/// own, but well enough to go on, is recorded in `built`.
StepResult BuildRoot(const Setup& setup, std::span<const int> trees, Network& network,
                     Built& built);
/// Returns 0 if `result` is not negative, otherwise errno.
int OrErrno(long result);
/// mkdir -p; a directory that exists is no error. Returns 0 or an errno.
int MakeDirectories(const std::string& path);
/// Makes the parent directories of `path`. Returns 0 or an errno.
int MakeParent(const std::string& path);
/// Mounts the tmpfs of `operation` on `target`, which must exist. Returns 0 or an errno.
int MountTmpfs(const Operation& operation, const std::string& target);

}  // namespace polybox::jail::init
