#include "net/connect.h"

#include <gtest/gtest.h>

#include "net/testing/host.h"
#include "net/testing/own_network.h"

namespace polybox::net {
namespace {

using testing::InOwnNetwork;
using testing::ListenAt;
using testing::Soon;

Address At(const std::string& text) {
  return Resolve({text, 443, true}).at(0);
}

TEST(ConnectToAny, OnlyTheFirstEightAreTried) {
  if (::geteuid() != 0) GTEST_SKIP() << "a network of one's own needs root";
  ASSERT_TRUE(InOwnNetwork([] {
    const UniqueFd last = ListenAt({"127.0.0.100", 443, true});
    std::vector<Address> addresses;
    for (int i = 1; i < 8; ++i) addresses.push_back(At("127.0.0." + std::to_string(i)));
    addresses.push_back(At("127.0.0.100"));
    EXPECT_TRUE(ConnectToAny(addresses, Soon()).ok());
    addresses.insert(addresses.begin(), At("127.0.0.50"));
    EXPECT_FALSE(ConnectToAny(addresses, Soon()).ok());
    EXPECT_FALSE(ConnectToAny({}, Soon()).ok());
  }));
}

TEST(ConnectToAny, AnAddressThatNeverAnswersLeavesTimeForTheNextWithinOneDeadline) {
  if (::geteuid() != 0) GTEST_SKIP() << "a network of one's own needs root";
  ASSERT_TRUE(InOwnNetwork([] {
    // With a full backlog that nobody accepts from, connecting never finishes.
    const UniqueFd stuck = ListenAt({"127.0.0.2", 443, true});
    ASSERT_EQ(::listen(stuck.get(), 0), 0);
    const UniqueFd good = ListenAt({"127.0.0.3", 443, true});
    const auto within = [](std::chrono::milliseconds time) {
      return Patience{std::chrono::steady_clock::now() + time, -1};
    };
    std::vector<UniqueFd> waiting;
    while (waiting.size() < 20) {
      auto one = Connect(At("127.0.0.2"), within(std::chrono::milliseconds(200)));
      if (!one.ok()) break;
      waiting.push_back(std::move(one).value());
    }
    ASSERT_LT(waiting.size(), 20U);
    const std::vector<Address> both = {At("127.0.0.2"), At("127.0.0.3")};
    EXPECT_TRUE(ConnectToAny(both, within(std::chrono::seconds(3))).ok());
    const std::vector<Address> deaf(8, At("127.0.0.2"));
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_FALSE(ConnectToAny(deaf, within(std::chrono::seconds(2))).ok());
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  }));
}

}  // namespace
}  // namespace polybox::net
