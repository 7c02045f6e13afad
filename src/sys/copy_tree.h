// Copies a directory that a guest could write into a directory of the server. Blocks. Any thread
// may call it while no guest runs in the source directory.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/result.h"
#include "base/units.h"

namespace polybox::sys {

struct CopyLimits {
  Bytes bytes = Bytes::MiB(1024);
  std::size_t entries = 131072;
  int depth = 64;
};

struct Copied {
  Bytes bytes;
  std::size_t entries = 0;
};

/// Copies everything below `from` into `to` (both borrowed). `to` must be empty and used by nobody
/// else. Copies directories, plain files and links that stay inside; of a file's mode only the
/// executable bit is kept. Any other entry, or more than the limits, is an error of kind kInvalid,
/// and the copy is then incomplete.
Result<Copied> CopyGuestTree(int from, int to, const CopyLimits& limits);

/// Returns whether a link at `path` to `target` stays below the directory where `path` begins,
/// whatever other links that pass this check exist.
bool LinkStaysInside(std::string_view path, std::string_view target);

}  // namespace polybox::sys
