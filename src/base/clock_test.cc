#include "base/clock.h"

#include <gtest/gtest.h>

namespace polybox {
namespace {

TEST(Clock, FakeTimeMovesOnlyWhenTold) {
  FakeClock clock;
  const auto start = clock.Now();
  const auto wall = clock.WallNow();
  EXPECT_EQ(clock.Now(), start);
  clock.Advance(std::chrono::seconds(5));
  EXPECT_EQ(clock.Now() - start, std::chrono::seconds(5));
  EXPECT_EQ(clock.WallNow() - wall, std::chrono::seconds(5));
}

TEST(Clock, SystemTimeNeverGoesBack) {
  const auto first = Clock::System().Now();
  EXPECT_GE(Clock::System().Now(), first);
}

}  // namespace
}  // namespace polybox
