#include "sys/own_ids.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <sstream>

#include "base/files.h"

namespace polybox::sys {

std::vector<IdRange> ParseIdMap(std::string_view text) {
  std::vector<IdRange> ranges;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    IdRange range;
    unsigned outside = 0;
    if (fields >> range.first >> outside >> range.count && range.count > 0) ranges.push_back(range);
  }
  return ranges;
}

std::vector<IdRange> OwnIds(const std::string& map) {
  return ParseIdMap(ReadFile("/proc/self/" + map).value_or(""));
}

std::vector<IdRange> InBoth(const std::vector<IdRange>& one, const std::vector<IdRange>& other) {
  std::vector<IdRange> both;
  for (const IdRange& a : one) {
    for (const IdRange& b : other) {
      const std::uint64_t first = std::max(a.first, b.first);
      const std::uint64_t end =
          std::min(std::uint64_t{a.first} + a.count, std::uint64_t{b.first} + b.count);
      if (first >= end) continue;
      both.push_back({static_cast<unsigned>(first), static_cast<unsigned>(end - first)});
    }
  }
  std::ranges::sort(both, {}, &IdRange::first);
  return both;
}

std::optional<GuestIds> ChooseGuestIds(const std::vector<IdRange>& mapped) {
  // One id for the owner, then the ids of 2^20 servers.
  constexpr IdRange kUsual = {0x6FFFFFFF, 1 + (1U << 20U) * kIdsOfServer};
  if (!InBoth(mapped, {kUsual}).empty() && InBoth(mapped, {kUsual})[0] == kUsual) {
    return GuestIds{kUsual.first, {kUsual.first + 1, kUsual.count - 1}};
  }
  // Ids below 1000 are system users. 65534 is "nobody" for the kernel and for every distribution.
  constexpr IdRange kFree[] = {{1000, 64534}, {65536, 0xFFFFFFFFU - 65536}};
  std::optional<GuestIds> best;
  for (const IdRange& free : InBoth(mapped, {std::begin(kFree), std::end(kFree)})) {
    const unsigned count = (free.count - 1) / kIdsOfServer * kIdsOfServer;
    const unsigned last = free.first + (free.count - 1);
    const bool better = count > 0 && (!best || count > best->slots.count);
    if (better) best = GuestIds{last, {last - count, count}};
  }
  return best;
}

std::optional<GuestIds> IdsForGuests() {
  return ChooseGuestIds(InBoth(OwnIds("uid_map"), OwnIds("gid_map")));
}

}  // namespace polybox::sys
