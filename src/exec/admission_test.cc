#include "exec/admission.h"

#include <gtest/gtest.h>

namespace polybox::exec {
namespace {

using Time = Admission::Time;
using std::chrono::seconds;

constexpr Time kLater = Time::max();

std::vector<Admission::Id> TakeAll(Admission& admission) {
  std::vector<Admission::Id> taken;
  while (const auto id = admission.Next()) taken.push_back(*id);
  return taken;
}

TEST(Admission, RunsAsManyAsItsLaneAllowsAndQueuesTheRest) {
  Admission admission({{.name = "a", .concurrency = 2, .queue = 1}});
  EXPECT_TRUE(admission.Offer(1, 0, "x", kLater));
  EXPECT_TRUE(admission.Offer(2, 0, "x", kLater));
  EXPECT_TRUE(admission.Offer(3, 0, "x", kLater));
  EXPECT_FALSE(admission.Offer(4, 0, "x", kLater)) << "two places and one to wait";
  EXPECT_EQ(TakeAll(admission), (std::vector<Admission::Id>{1, 2}));
  EXPECT_EQ(admission.Load(0).running, 2);
  EXPECT_EQ(admission.Load(0).queued, 1);
  EXPECT_FALSE(admission.Offer(5, 0, "x", kLater));
  admission.FreePlace(0);
  EXPECT_TRUE(admission.Offer(6, 0, "x", kLater)) << "who waits is about to run";
  EXPECT_EQ(TakeAll(admission), (std::vector<Admission::Id>{3}));
}

TEST(Admission, WithoutAQueueOnlyAFreePlaceCounts) {
  Admission admission({{.name = "a", .concurrency = 1, .queue = 0}});
  EXPECT_TRUE(admission.Offer(1, 0, "x", kLater));
  EXPECT_FALSE(admission.Offer(2, 0, "x", kLater));
  EXPECT_EQ(admission.Next(), 1U);
  EXPECT_FALSE(admission.Offer(3, 0, "x", kLater));
  admission.FreePlace(0);
  EXPECT_TRUE(admission.Idle());
  EXPECT_TRUE(admission.Offer(4, 0, "x", kLater));
}

TEST(Admission, ClientsTakeTurns) {
  Admission admission({{.name = "a", .concurrency = 1, .queue = 100}});
  for (Admission::Id id = 1; id <= 50; ++id) ASSERT_TRUE(admission.Offer(id, 0, "many", kLater));
  EXPECT_EQ(admission.Next(), 1U);
  ASSERT_TRUE(admission.Offer(51, 0, "one", kLater));
  ASSERT_TRUE(admission.Offer(52, 0, "two", kLater));
  std::vector<Admission::Id> order;
  for (int i = 0; i < 4; ++i) {
    admission.FreePlace(0);
    order.push_back(admission.Next().value());
  }
  EXPECT_EQ(order, (std::vector<Admission::Id>{2, 51, 52, 3}));
}

TEST(Admission, AFullLaneDoesNotHoldUpAnother) {
  Admission admission(
      {{.name = "a", .concurrency = 1, .queue = 9}, {.name = "b", .concurrency = 1, .queue = 9}});
  for (Admission::Id id = 1; id <= 4; ++id) ASSERT_TRUE(admission.Offer(id, 0, "x", kLater));
  ASSERT_TRUE(admission.Offer(5, 1, "x", kLater));
  EXPECT_EQ(TakeAll(admission), (std::vector<Admission::Id>{1, 5}));
}

TEST(Admission, ARequestThatExpiresOrIsCancelledLeavesTheQueue) {
  const Time now = std::chrono::steady_clock::now();
  Admission admission({{.name = "a", .concurrency = 1, .queue = 9}});
  ASSERT_TRUE(admission.Offer(1, 0, "x", now + seconds(1)));
  ASSERT_TRUE(admission.Offer(2, 0, "x", now + seconds(3)));
  ASSERT_TRUE(admission.Offer(3, 0, "y", now + seconds(2)));
  EXPECT_EQ(admission.NextExpiry(), now + seconds(1));
  EXPECT_EQ(admission.Expired(now + seconds(2)), (std::vector<Admission::Id>{1, 3}));
  EXPECT_TRUE(admission.Remove(2));
  EXPECT_FALSE(admission.Remove(2));
  EXPECT_TRUE(admission.Idle());
  EXPECT_EQ(admission.NextExpiry(), std::nullopt);
  EXPECT_EQ(admission.Next(), std::nullopt);
}

}  // namespace
}  // namespace polybox::exec
