// The files that a run left in its output directory. What a guest put there is never trusted: only
// plain files are opened, no link is followed, and there is a limit to everything.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "exec/request.h"

namespace polybox::exec {

struct CollectLimits {
  std::size_t files = 256;
  /// Of one file, and of all together.
  Bytes file = Bytes::MiB(16);
  Bytes total = Bytes::MiB(32);
  /// Directories within each other.
  int depth = 16;
  /// Entries that are looked at, of whatever kind.
  std::size_t entries = 16384;
};

struct Collected {
  /// In order of their paths.
  std::vector<Artifact> files;
  /// "PATH (why)" of what is there and not handed over; past a hundred only how many more.
  std::vector<std::string> left_out;
};

/// All plain files below `directory` (borrowed, from jail::Slot::OpenDirectory), while no guest
/// runs in it.
Result<Collected> CollectFiles(int directory, const CollectLimits& limits = {});

}  // namespace polybox::exec
