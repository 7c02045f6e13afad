// A mount namespace of our own, for file systems that nobody else shall see and that go with us.
// Needs root and a host that allows it.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/units.h"

namespace polybox::sys {

/// Of the calling thread and of those that it starts from here on. What the host mounts later is
/// still seen; what we mount is not seen by the host.
Status EnterOwnMounts();

/// An empty file system in memory over the directory `path`, for as long as the namespace lives;
/// only its owner may enter it.
/// Only after EnterOwnMounts, or the host gets it.
Status MountMemory(const std::string& path, Bytes size, std::int64_t files);

struct FileSystemSize {
  Bytes bytes;
  /// UINT64_MAX where there is no bound.
  std::uint64_t files = 0;
};

/// Of the file system that is mounted at exactly this directory (borrowed); kNotFound when it
/// belongs to a larger one.
Result<FileSystemSize> OwnFileSystem(int directory);

}  // namespace polybox::sys
