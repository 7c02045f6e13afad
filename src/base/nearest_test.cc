#include "base/nearest.h"

#include <gtest/gtest.h>

namespace polybox {
namespace {

TEST(Nearest, DistanceCountsSingleEditsAndSwaps) {
  EXPECT_EQ(EditDistance("", ""), 0U);
  EXPECT_EQ(EditDistance("abc", ""), 3U);
  EXPECT_EQ(EditDistance("listen", "lisen"), 1U);
  EXPECT_EQ(EditDistance("listen", "lisetn"), 1U);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3U);
}

TEST(Nearest, FindsATypoAndStaysSilentOtherwise) {
  const std::vector<std::string_view> keys = {"listen", "mode", "log-level"};
  EXPECT_EQ(NearestName("lisen", keys), "listen");
  EXPECT_EQ(NearestName("loglevel", keys), "log-level");
  EXPECT_EQ(NearestName("moed", keys), "mode");
  EXPECT_EQ(NearestName("banana", keys), "");
  EXPECT_EQ(DidYouMean("lisen", keys), "; did you mean \"listen\"?");
  EXPECT_EQ(DidYouMean("banana", keys), "");
}

}  // namespace
}  // namespace polybox
