#include "sys/own_ids.h"

#include <gtest/gtest.h>

namespace polybox::sys {
namespace {

TEST(OwnIds, AMapIsReadWithItsInsideIds) {
  EXPECT_EQ(ParseIdMap("         0          0 4294967295\n"),
            (std::vector<IdRange>{{0, 4294967295U}}));
  EXPECT_EQ(ParseIdMap("0 1000 1\n1 100000 65536\n"), (std::vector<IdRange>{{0, 1}, {1, 65536}}));
  EXPECT_TRUE(ParseIdMap("").empty()) << "a container that maps no project ids";
  EXPECT_TRUE(ParseIdMap("nonsense\n1 2\n3 4 0\n").empty());
}

TEST(OwnIds, OnlyIdsThatBothMapsHaveCount) {
  EXPECT_EQ(InBoth({{0, 1}, {1, 65536}}, {{0, 1000}}), (std::vector<IdRange>{{0, 1}, {1, 999}}));
  EXPECT_TRUE(InBoth({{0, 10}}, {{10, 10}}).empty());
  EXPECT_EQ(InBoth({{0, 4294967295U}}, {{5, 4294967290U}}),
            (std::vector<IdRange>{{5, 4294967290U}}));
}

TEST(OwnIds, GuestsGetIdsThatExistAndNobodyElseHas) {
  const GuestIds usual = {0x6FFFFFFF, {0x70000000, 1U << 28U}};
  EXPECT_EQ(ChooseGuestIds({{0, 4294967295U}}), usual);
  EXPECT_EQ(ChooseGuestIds({{0, 0x80000000}}), usual);
  // A container with 65,536 ids, where neither 65534 nor 65535 may be used.
  EXPECT_EQ(ChooseGuestIds({{0, 65536}}), (GuestIds{65533, {65533 - 252 * 256, 252 * 256}}));
  // A container without root's own privileges.
  EXPECT_EQ(ChooseGuestIds({{0, 1}, {1, 65536}}),
            (GuestIds{65533, {65533 - 252 * 256, 252 * 256}}));
  EXPECT_EQ(ChooseGuestIds({{0, 1257}}), (GuestIds{1256, {1000, 256}}));
  EXPECT_EQ(ChooseGuestIds({{0, 1256}}), std::nullopt) << "one too few";
  EXPECT_EQ(ChooseGuestIds({{0, 1}}), std::nullopt) << "unshare -r";
  EXPECT_EQ(ChooseGuestIds({}), std::nullopt);
}

}  // namespace
}  // namespace polybox::sys
