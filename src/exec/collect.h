// Reads the files that a run left in its output directory. Files of a guest are never trusted: only
// plain files are opened, no link is followed, and everything has a limit. Used by session.cc.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "exec/request.h"

namespace polybox::exec {

/// Limits of what is read.
struct CollectLimits {
  /// The number of files.
  std::size_t files = 256;
  /// The size of one file, and of all files together.
  Bytes file = Bytes::MiB(16);
  Bytes total = Bytes::MiB(32);
  /// The depth of directories within each other.
  int depth = 16;
  /// The number of directory entries of any kind that are examined.
  std::size_t entries = 16384;
};

/// The result.
struct Collected {
  /// Sorted by path.
  std::vector<Artifact> files;
  /// Files that are not returned, as "PATH (why)". After a hundred, only the number of the others.
  std::vector<std::string> left_out;
};

/// Reads all plain files below `directory` (borrowed, from jail::Slot::OpenDirectory). No guest may
/// run in the directory meanwhile. Returns an error once stop of `cancel` is requested.
Result<Collected> CollectFiles(int directory, const CollectLimits& limits = {},
                               const std::stop_token& cancel = {});

}  // namespace polybox::exec
