// Id-mapped mounts: which ids the map exchanges, and that files keep their owner.
#include "jail/owner_map.h"

#include <gtest/gtest.h>

namespace polybox::jail {
namespace {

TEST(OwnerMap, ExchangesTwoIdsAndKeepsAllOthers) {
  const std::vector<sys::IdRange> all = {{0, 4294967295}};
  struct Case {
    std::vector<sys::IdRange> ranges;
    unsigned on_disk;
    unsigned seen;
    const char* map;
  };
  const Case cases[] = {
      {all, 0, 5, "0 5 1\n1 1 4\n5 0 1\n6 6 4294967289\n"},
      {all, 1000, 2000,
       "0 0 1000\n1000 2000 1\n1001 1001 999\n2000 1000 1\n2001 2001 4294965294\n"},
      {all, 2000, 1000,
       "0 0 1000\n1000 2000 1\n1001 1001 999\n2000 1000 1\n2001 2001 4294965294\n"},
      {all, 7, 8, "0 0 7\n7 8 1\n8 7 1\n9 9 4294967286\n"},
      {all, 7, 7, "0 0 7\n7 7 1\n8 8 4294967287\n"},
      {{{0, 10}, {100, 10}}, 5, 105, "0 0 5\n5 105 1\n6 6 4\n100 100 5\n105 5 1\n106 106 4\n"},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(ExchangeMap(one.ranges, one.on_disk, one.seen), one.map);
  }
}

}  // namespace
}  // namespace polybox::jail
