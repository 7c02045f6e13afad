// Files that programs outside of the jail execute because a protected file names them: the target
// of a symbolic link, such as a hook that is kept elsewhere in the project; the files that a git
// configuration includes; the directory that it names for hooks. Any thread.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "machine/protected_trees.h"

namespace polybox::machine {

/// For each tree the paths from its root, with the reasons.
using NamedFiles = std::vector<std::map<std::string, std::string>>;

/// Returns the files that the known files of `trees` name, and that have no rule of their own. A
/// file outside of the trees is left out: no command can write it.
NamedFiles FindNamedFiles(const ProtectedTrees& trees);

/// What a git configuration names.
struct GitConfigPath {
  enum class Kind { kInclude, kHooks };

  Kind kind = Kind::kInclude;
  std::string path;

  bool operator==(const GitConfigPath&) const = default;
};

/// Returns the paths of include.path, includeIf.*.path, core.hooksPath and core.attributesFile. A
/// condition of an include is taken as met.
std::vector<GitConfigPath> PathsInGitConfig(std::string_view text);

}  // namespace polybox::machine
