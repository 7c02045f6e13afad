// Finds the place of a path in a workspace. No result is outside the workspace, whatever other
// processes rename or link in the meantime. Each step starts from an open directory and names one
// entry of it. Symbolic links are followed if they stay inside. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <sys/stat.h>

#include "base/result.h"
#include "base/unique_fd.h"

namespace polybox::workspace {

/// What to do with a symbolic link that is the last component of a path.
enum class LastLink {
  kFollow,  ///< The place is that of the file to which the link leads.
  kKeep,    ///< The place is that of the link itself: for moving and removing.
};

/// The root of a workspace, for Resolve().
struct Root {
  /// Open with O_PATH (borrowed).
  int directory = -1;
  /// The absolute path without links.
  std::string_view path;
  /// The absolute path as it was configured, possibly with links in it.
  std::string_view spelled;
};

/// An entry of a directory, or the place where one can be made.
struct Place {
  /// The directory of the entry, open with O_PATH. If directories are missing: the deepest one that
  /// exists.
  UniqueFd parent;
  /// Names of directories that do not exist yet, from `parent` downwards.
  std::vector<std::string> missing;
  /// The last component; "." for the root.
  std::string name;
  /// The path from the root without links; "" for the root.
  std::string path;

  bool IsRoot() const { return path.empty(); }
};

/// Finds the place of `path`, which is absolute or relative to the root. The entry itself need not
/// exist. Fails with "path is outside workspace root", or with "resolve path: lstat ...: ...".
Result<Place> Resolve(const Root& root, std::string_view path,
                      LastLink last_link = LastLink::kFollow);

/// Returns the state of the entry itself; follows no link. Fails with the errno of fstatat().
Result<struct stat> StateOf(const Place& place);

/// Opens the entry. Follows no link, never waits, and fails with the errno of open().
Result<UniqueFd> OpenAt(const Place& place, int flags);

/// Returns the absolute path of the place, for messages.
std::string AbsolutePath(const Root& root, const Place& place);

}  // namespace polybox::workspace
