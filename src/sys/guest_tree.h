// Reads a directory that a guest could write. These functions follow no symbolic link, and they
// open only plain files and directories. Any thread may call them while no guest runs in the
// directory.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include <sys/stat.h>

#include "base/result.h"
#include "base/unique_fd.h"

namespace polybox::sys {

/// Calls OpenBelow() (sys/open_below.h) in `directory` (borrowed). The call follows no link,
/// crosses no mount and never waits.
Result<UniqueFd> OpenBeneath(int directory, const std::string& path, int flags, unsigned mode = 0);

/// Returns whether `directory` (borrowed) has no entries; false also when the directory cannot be
/// read.
bool IsEmptyDirectory(int directory);

struct TreeEntry {
  /// The path of the entry, relative to the directory in which the walk began.
  const std::string& path;
  /// The directory that contains the entry (borrowed), and the entry's name in that directory.
  int directory;
  const std::string& name;
  const struct stat& info;
};

struct WalkLimits {
  /// How deep directories may be nested. The walk holds one descriptor for each level.
  int depth = 32;
  /// How many entries all directories together may have.
  std::size_t entries = 65536;
};

struct TreeVisitor {
  /// Called for every entry of any kind, sorted by name. A directory comes before its entries. An
  /// error ends the walk.
  std::function<Status(const TreeEntry&)> entry;
  /// Called for a directory that the walk does not read: too deep, too many entries, or not
  /// readable.
  std::function<Status(const std::string& path, std::string_view why)> skipped;
  /// Returns whether the walk enters a directory. When null, the walk enters every directory.
  std::function<bool(const TreeEntry&)> enters = {};
};

/// Walks everything below `directory` (borrowed). Returns the first error that a callback returns.
Status WalkGuestTree(int directory, const WalkLimits& limits, const TreeVisitor& visitor);

}  // namespace polybox::sys
