// Lists the files of a workspace for a snapshot: all that git would add, with the names of their
// contents. Follows no link, opens only plain files, and obeys nothing but the ignore files of the
// project. Other processes may change the workspace meanwhile. The caller acts as the workspace's
// owner. Any thread.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <stop_token>
#include <string>

#include "base/result.h"
#include "snapshots/file_map.h"
#include "workspace/workspace.h"

namespace polybox::snapshots {

/// A project with more files or content is not saved. Its ignore files usually lack the directory
/// of dependencies or build results.
inline constexpr std::size_t kMostFiles = 200'000;
inline constexpr Bytes kMostContent = Bytes::MiB(4096);

struct Scan {
  FileMap files;
  /// Entries that no snapshot holds, with the reason: "fifo", "a FIFO".
  std::map<std::string, std::string> left_out;

  /// Returns the entry of left_out that is `path` or a directory above it; null if none is.
  const std::pair<const std::string, std::string>* FindLeftOut(const std::string& path) const;
};

/// Takes a content. Called once for each file, in the order of the walk.
using ContentSink = std::function<Status(const ObjectId& id, std::string_view content)>;

/// Reads every file. `keep` may be null. Fails if there is too much, or when the caller stops.
Result<Scan> ScanFiles(const workspace::Workspace& workspace, const ContentSink& keep,
                       std::stop_token stop);

/// Returns the paths that ScanFiles() would list, without reading files.
Result<std::set<std::string>> ListPaths(const workspace::Workspace& workspace,
                                        std::stop_token stop);

}  // namespace polybox::snapshots
