// Which directories of the host the jail of a workspace shows beside the system: those on PATH,
// what their links point into, and the roots of toolchains. The functions read the host's file
// system and change nothing. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "languages/toolchain.h"
#include "workspace/workspace.h"

namespace polybox::machine {

/// Directories that are never shown as a whole, nor with a directory above them: `/`, homes, the
/// workspaces and the cache.
class ClosedPaths {
 public:
  /// `paths` are absolute and without links. The homes of the host's users are added.
  explicit ClosedPaths(std::vector<std::string> paths);

  /// Returns whether the directory may be shown.
  bool MayShow(const std::string& directory) const;
  /// Returns whether the directory lies directly in a home or is one. Such a directory (~/.local,
  /// ~/.cargo) has more in it than programs.
  bool IsTopOfHome(const std::string& directory) const;

 private:
  bool IsHome(const std::string& directory) const;

  std::vector<std::string> homes_;
  std::vector<std::string> closed_;
};

/// What is found for the jail's PATH.
struct ShownPaths {
  /// The directories to show, without links.
  std::vector<std::string> directories;
  /// Single files to show: targets of links that lie in a directory that may not be shown.
  std::vector<std::string> files;
  /// Links on PATH itself, with the directories that they lead to.
  std::vector<std::pair<std::string, std::string>> links;
  /// The value of PATH in the jail.
  std::string path;
};

/// Finds what to show for the server's `path`. In the value for the jail, the directory of a
/// toolchain's real program comes before the directory of the shim that starts it.
ShownPaths FindShownPaths(std::string_view path,
                          const std::vector<languages::Toolchain>& toolchains,
                          const ClosedPaths& closed);

/// Returns the root of the interpreter behind the virtual environment `.venv` or `venv` of a
/// workspace; "" if there is none. Guests can write the file that names it. So the root must hold
/// an interpreter, and `closed` must allow it.
std::string VenvRoot(const workspace::Workspace& workspace, const ClosedPaths& closed);

}  // namespace polybox::machine
