// Finds the protected files of a directory tree, and the directories in which one could appear.
// Follows no link. The tree may change meanwhile. Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <sys/stat.h>

#include "base/result.h"
#include "base/unique_fd.h"
#include "workspace/protection_rules.h"

namespace polybox::workspace {

/// An entry that a rule of its own protects, of any kind.
struct ProtectedFile {
  std::string path;
  ProtectionRules::Rule rule;
  struct stat info{};
};

struct ScanVisitor {
  std::function<void(ProtectedFile)> found;
  /// Called for each directory that the scan enters, before the scan reads its entries. `path` is
  /// "" for the root of the tree; `fd` is borrowed.
  std::function<void(const std::string& path, int fd)> enters;
  /// Called for a directory that cannot be opened.
  std::function<void(const std::string& path)> unread;
  /// Called at most once: there are directories that the scan does not enter, because it has
  /// reached one of the limits below.
  std::function<void()> incomplete;
};

/// One scan enters at most this many directories, far more than projects have. Those near the root
/// come first.
inline constexpr std::size_t kMostDirectories = 200'000;
/// The paths of the directories that a scan has found and not entered yet have at most this length
/// together. A command can make a directory with millions of others.
inline constexpr std::size_t kMostWaitingBytes = 32U << 20U;

/// Opens `path` below the directory `root` (borrowed), "" for the root itself. Follows no link, but
/// crosses mounts, as programs in the tree do. Fails with the errno of openat2().
Result<UniqueFd> OpenInTree(int root, const std::string& path, int flags);

/// Scans the directory `start` of the tree at `root` (borrowed), and all below it. Enters no
/// protected directory, unless its rule is for itself only.
void ScanProtected(int root, const std::string& start, const ProtectionRules& rules,
                   const ScanVisitor& visitor);

/// Looks at one path. Calls `found` if a protected entry exists there.
void LookAtProtected(int root, const std::string& path, const ProtectionRules& rules,
                     const std::function<void(ProtectedFile)>& found);

}  // namespace polybox::workspace
