// Shows files of one user of the host as the guests' own, by an id-mapped mount. What the guests
// make then belongs to that user on disk, though the guests have uids of the slot's own. Needs root
// and a file system that allows it: ext4, xfs, btrfs and tmpfs do, overlayfs does not. Any thread.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "jail/spec.h"
#include "sys/own_ids.h"

namespace polybox::jail {

/// Returns the text of a uid_map or gid_map that exchanges two ids and leaves all others of
/// `ranges` as they are. Ids on disk come first in each line.
std::string ExchangeMap(const std::vector<sys::IdRange>& ranges, unsigned on_disk, unsigned seen);

/// Lets the detached mount `mount` (borrowed) show the files of `owner` as those of `guest`.
Status MapOwner(int mount, const HostIds& owner, const HostIds& guest);

/// Returns whether the file system of `path` allows MapOwner(); the error says why not. Changes
/// nothing.
Status CheckOwnerMap(const std::string& path);

/// Returns a detached copy of the mount at `path`, without the mounts below it. Needs root.
Result<UniqueFd> CopyMount(const std::string& path);

}  // namespace polybox::jail
