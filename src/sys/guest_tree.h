// Reading a directory that a guest could write: nothing in it is followed, and nothing but plain
// files and directories is ever opened. Any thread; no guest may be running in it.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include <sys/stat.h>

#include "base/result.h"
#include "base/unique_fd.h"

namespace polybox::sys {

/// openat2() below `directory` (borrowed): no link is followed, no mount crossed, nothing waits.
Result<UniqueFd> OpenBeneath(int directory, const std::string& path, int flags, unsigned mode = 0);

/// Whether there is nothing in it; false when that cannot be told. Borrows it.
bool IsEmptyDirectory(int directory);

struct TreeEntry {
  /// From where the walk began.
  const std::string& path;
  /// The directory that it is in (borrowed), and its name there.
  int directory;
  const std::string& name;
  const struct stat& info;
};

struct WalkLimits {
  /// Directories within each other; each holds a descriptor.
  int depth = 32;
  /// Of all directories together.
  std::size_t entries = 65536;
};

struct TreeVisitor {
  /// For every entry of any kind, in order of their names, a directory before what is in it. An
  /// error ends the walk.
  std::function<Status(const TreeEntry&)> entry;
  /// What is not looked into: too deep, too many, or not readable.
  std::function<Status(const std::string& path, std::string_view why)> skipped;
};

Status WalkGuestTree(int directory, const WalkLimits& limits, const TreeVisitor& visitor);

}  // namespace polybox::sys
