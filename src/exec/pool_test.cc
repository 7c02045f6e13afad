#include "exec/pool.h"

#include <atomic>
#include <semaphore>
#include <thread>

#include <gtest/gtest.h>

#include "jail/spec.h"

namespace polybox::exec {
namespace {

using std::chrono::seconds;

/// Tests of the pool with slots of grade none: they need no privileges, and the pool treats all
/// grades alike.
class PoolTest : public ::testing::Test {
 protected:
  using Loan = std::unique_ptr<SlotPool::Loan>;

  Loan Take(SlotPool& pool, const std::string& key) {
    auto loan = pool.Take(key, [&] {
      ++made_;
      jail::Spec spec = jail::HostSpec();
      spec.grade = jail::Grade::kNone;
      return spec;
    });
    EXPECT_TRUE(loan.ok()) << loan.error().message();
    return std::move(loan).value();
  }
  /// Takes a slot of each key, then gives all back in that order.
  void Use(SlotPool& pool, const std::vector<std::string>& keys) {
    std::vector<Loan> loans;
    for (const std::string& key : keys) loans.push_back(Take(pool, key));
    for (Loan& loan : loans) pool.Give(std::move(loan));
  }
  /// Returns how many slots must be made to take these.
  int MadeFor(SlotPool& pool, const std::vector<std::string>& keys) {
    made_ = 0;
    Use(pool, keys);
    return made_;
  }

  const launch::JailHome home_ = launch::JailHome::Make(jail::Grade::kNone).value();
  std::atomic<int> made_ = 0;
};

constexpr Bytes kPlenty = Bytes::MiB(1024);

TEST_F(PoolTest, AnIdleSlotIsTakenByItsKey) {
  SlotPool pool(home_, {.most = 4, .memory = kPlenty});
  EXPECT_EQ(MadeFor(pool, {"a", "b"}), 2);
  EXPECT_EQ(MadeFor(pool, {"b", "a"}), 0);
  EXPECT_EQ(MadeFor(pool, {"a", "a"}), 1);
}

TEST_F(PoolTest, ABurstInOneLanguageLeavesTheOthersTheirs) {
  SlotPool pool(home_, {.most = 3, .memory = kPlenty});
  Use(pool, {"quiet"});
  Use(pool, {"loud", "loud", "loud", "loud"});
  EXPECT_EQ(MadeFor(pool, {"quiet"}), 0);
  EXPECT_EQ(MadeFor(pool, {"loud", "loud"}), 0) << "the rest of the room is the burst's";
}

TEST_F(PoolTest, TheOldOnesGoButThoseThatAreKept) {
  SlotPool pool(home_, {.most = 8, .memory = kPlenty, .kept_key = "kept", .kept = 1});
  Use(pool, {"kept", "kept", "other"});
  pool.DropIdle(seconds(0));
  EXPECT_EQ(MadeFor(pool, {"other"}), 1);
  EXPECT_EQ(MadeFor(pool, {"kept", "kept"}), 1);
}

TEST_F(PoolTest, ThereIsNoMoreThanTheMemoryAllows) {
  SlotPool pool(home_, {.most = 8, .memory = Bytes(1), .kept_key = "kept", .kept = 1});
  Use(pool, {"kept", "kept", "other", "other"});
  EXPECT_EQ(MadeFor(pool, {"kept"}), 0) << "what is kept is kept anyway";
  EXPECT_EQ(MadeFor(pool, {"other"}), 1);
}

TEST_F(PoolTest, ThereAreNoMoreThanThoseInUseAndAsManyOnTheirWayBack) {
  constexpr int kUsers = 3;
  // Another thread gives the slot back, so that the next slot is taken while this one is being
  // reset.
  constexpr int kInHand = 2;
  SlotPool pool(home_, {.most = 100, .memory = kPlenty, .patience = std::chrono::minutes(1)});
  {
    std::vector<std::jthread> users;
    for (int user = 0; user < kUsers; ++user) {
      users.emplace_back([&] {
        std::counting_semaphore<kInHand> hands(kInHand);
        std::vector<std::jthread> givers;
        for (int i = 0; i < 20; ++i) {
          hands.acquire();
          givers.emplace_back([&pool, &hands, loan = Take(pool, "a")]() mutable {
            pool.Give(std::move(loan));
            hands.release();
          });
        }
      });
    }
  }
  EXPECT_LE(made_, 2 * kInHand * kUsers + 1);
  EXPECT_EQ(MadeFor(pool, {"a"}), 0);
}

}  // namespace
}  // namespace polybox::exec
