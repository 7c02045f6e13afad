// Copies a directory that a guest could write into one of ours. Blocks; any thread; no guest may be
// running in it.
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

/// All below `from` into `to` (both borrowed; `to` is empty and nobody else's): directories, plain
/// files with no more rights than being executable, and links that stay inside. Anything else, or
/// more than the limits, is an error of kind kInvalid; the copy is then incomplete.
Result<Copied> CopyGuestTree(int from, int to, const CopyLimits& limits);

/// Whether a link at `path` to `target` stays below where `path` begins, whatever other such links
/// there are.
bool LinkStaysInside(std::string_view path, std::string_view target);

}  // namespace polybox::sys
