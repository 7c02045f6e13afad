// Gives the server a mount namespace of its own. Other processes of the host do not see the mounts
// in it, and these mounts end with the server. Needs root and a host that allows mount namespaces.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/units.h"

namespace polybox::sys {

/// Moves the calling thread, and all threads that it starts later, to a new mount namespace.
/// Threads that exist already stay in the old namespace. Later mounts of the host still appear in
/// the new one; mounts of the server do not appear on the host.
Status EnterOwnMounts();

/// Mounts an empty tmpfs with at most `size` and `files` over the directory `path`. The mount lasts
/// as long as the mount namespace; only the directory's owner may enter it.
/// Must follow EnterOwnMounts(), or the mount appears on the host.
Status MountMemory(const std::string& path, Bytes size, std::int64_t files);

struct FileSystemSize {
  Bytes bytes;
  /// UINT64_MAX when the file system has no limit.
  std::uint64_t files = 0;
};

/// Returns the size of the file system that is mounted at exactly `directory` (borrowed). Returns
/// kNotFound when `directory` is only a part of a file system.
Result<FileSystemSize> OwnFileSystem(int directory);

}  // namespace polybox::sys
