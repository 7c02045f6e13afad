#include "base/split.h"

#include <gtest/gtest.h>

namespace polybox {
namespace {

TEST(Split, LeavesOutEmptyParts) {
  const std::vector<std::string> both = {"a", "b"};
  EXPECT_EQ(Split("a,b", ','), both);
  EXPECT_EQ(Split(",a,,b,", ','), both);
  EXPECT_EQ(Split("a:b", ','), std::vector<std::string>{"a:b"});
  EXPECT_TRUE(Split("", ',').empty());
  EXPECT_TRUE(Split(",,", ',').empty());
}

}  // namespace
}  // namespace polybox
