// Tells which uids and gids exist in this process's user namespace. A container may have few of
// them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace polybox::sys {

struct IdRange {
  unsigned first = 0;
  unsigned count = 0;

  bool operator==(const IdRange&) const = default;
};

/// Returns the ranges that the text of a uid_map, gid_map or projid_map maps, in the order of the
/// text. A line that cannot be parsed is skipped.
std::vector<IdRange> ParseIdMap(std::string_view text);

/// Returns the ranges of this process. `map` is the file name, such as "uid_map".
std::vector<IdRange> OwnIds(const std::string& map);

/// Returns the ids that are in both lists, in ascending order.
std::vector<IdRange> InBoth(const std::vector<IdRange>& one, const std::vector<IdRange>& other);

/// The uids that guests may have on this host. The gids have the same numbers.
struct GuestIds {
  /// The owner of the files in a base directory that polybox made. This id is the same for every
  /// server.
  unsigned owner = 0;
  /// The ids for slots. The count is a multiple of kIdsOfServer.
  IdRange slots;

  bool operator==(const GuestIds&) const = default;
};

/// The number of ids that the slots of one server use.
inline constexpr unsigned kIdsOfServer = 256;

/// Chooses ids for guests from the mapped ids: if possible far from users' ids and subordinate
/// ranges, else the highest ones. Returns nothing when there are too few.
std::optional<GuestIds> ChooseGuestIds(const std::vector<IdRange>& mapped);

/// ChooseGuestIds() for the ids of this process.
std::optional<GuestIds> IdsForGuests();

}  // namespace polybox::sys
