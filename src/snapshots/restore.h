// Brings the files of a workspace back to those of a snapshot. Writes and removes only entries of
// directories that it opened below the root without following links, whatever other processes do
// meanwhile. The caller acts as the workspace's owner and holds Workspace::writes(). Any thread.
#pragma once

#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "snapshots/file_map.h"
#include "snapshots/object_store.h"
#include "snapshots/scan.h"
#include "workspace/workspace.h"

namespace polybox::snapshots {

struct RestoreReport {
  /// Sorted by path.
  std::vector<Change> changed;
  struct Kept {
    std::string path;
    std::string why;
  };
  /// What still differs from the snapshot. Sorted by path.
  std::vector<Kept> kept;
};

struct RestoreRequest {
  const workspace::Workspace& workspace;
  const ObjectStore& objects;
  /// The files of the snapshot.
  const FileMap& target;
  /// The files of the workspace now.
  const Scan& present;
  std::stop_token stop = {};
};

/// A file is removed only if it was listed in `present`, if the snapshot lacks it, and if the
/// ignore files of the snapshot do not name it either: such a file was not saved because it was
/// ignored. Protected files and what lies in other repositories are kept. Fails only before the
/// first change; what fails afterwards is in the report.
Result<RestoreReport> Restore(const RestoreRequest& request);

}  // namespace polybox::snapshots
