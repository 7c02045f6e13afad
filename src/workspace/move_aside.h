// Moves a protected file that a command has made out of the way: beside its place, to a name that
// no program trusts. The file is kept, because it may be of use to the user. Any thread.
#pragma once

#include <string>

#include "base/result.h"
#include "workspace/act_as_owner.h"

namespace polybox::workspace {

/// What is appended to the name, before a number.
inline constexpr const char* kAsideSuffix = ".moved-aside-";
/// The numbers end here: a program that makes the file again and again would fill the directory.
inline constexpr int kMostAside = 32;

/// Renames the entry `path` of the tree at `root` (borrowed), with the rights of `owner`. Follows
/// no link. Returns the new path. Fails with ENOENT if there is no entry, and with EMFILE after
/// kMostAside entries.
Result<std::string> MoveAside(int root, const std::string& path, const Owner& owner);

}  // namespace polybox::workspace
