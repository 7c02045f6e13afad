#include "sys/server_number.h"

#include <memory>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace polybox::sys {
namespace {

// Large, because other servers of this machine may hold some numbers.
constexpr unsigned kCount = 1U << 20U;

TEST(ServerNumber, NoTwoHaveTheSame) {
  std::vector<std::unique_ptr<ServerNumber>> servers;
  std::set<unsigned> numbers;
  for (int i = 0; i < 1000; ++i) {
    servers.push_back(std::make_unique<ServerNumber>(kCount));
    EXPECT_LT(servers.back()->value(), kCount);
    EXPECT_TRUE(numbers.insert(servers.back()->value()).second) << servers.back()->value();
  }
}

TEST(ServerNumber, ServerNumbersDifferEvenAmongFew) {
  // So few that a random choice alone would repeat a number.
  constexpr unsigned kFew = 40;
  std::vector<std::unique_ptr<ServerNumber>> servers;
  std::set<unsigned> numbers;
  for (int i = 0; i < 20; ++i) {
    servers.push_back(std::make_unique<ServerNumber>(kFew));
    numbers.insert(servers.back()->value());
  }
  EXPECT_EQ(numbers.size(), servers.size());
}

TEST(ServerNumber, ThereIsOneWhenAllAreTaken) {
  const ServerNumber first(1);
  const ServerNumber second(1);
  EXPECT_EQ(second.value(), 0U);
}

}  // namespace
}  // namespace polybox::sys
