// Finds a directory for files that need not outlive polybox. The root file system of a container
// may be read-only. Any thread may call these functions.
#pragma once

#include <string>
#include <vector>

namespace polybox::sys {

/// Returns the directories to try, in order: $TMPDIR, $XDG_RUNTIME_DIR, and the usual ones of
/// systems and containers. The paths are absolute and contain no links.
std::vector<std::string> TemporaryDirectories();

/// Returns the first directory of TemporaryDirectories() in which this process can make files. A
/// directory from which programs can be executed is preferred. Returns "" when there is none.
std::string TemporaryDirectory();

/// Returns whether the file system of `directory` is mounted without noexec.
bool MayExecuteIn(const std::string& directory);

}  // namespace polybox::sys
