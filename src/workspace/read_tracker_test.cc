#include "workspace/read_tracker.h"

#include <gtest/gtest.h>

namespace polybox::workspace {
namespace {

TEST(ReadTracker, KeepsTheLatestContentOfEachCallerAndPath) {
  ReadTracker tracker;
  tracker.Mark("a", "x", HashOf("1"));
  tracker.Mark("a", "x", HashOf("2"));
  tracker.Mark("b", "x", HashOf("3"));
  EXPECT_EQ(tracker.Find("a", "x"), HashOf("2"));
  EXPECT_EQ(tracker.Find("b", "x"), HashOf("3"));
  EXPECT_EQ(tracker.Find("a", "y"), std::nullopt);
  EXPECT_EQ(tracker.Find("", "xa"), std::nullopt);
}

TEST(ReadTracker, DropsTheOldestMarksFirst) {
  ReadTracker tracker(2);
  tracker.Mark("a", "1", HashOf("1"));
  tracker.Mark("a", "2", HashOf("2"));
  tracker.Mark("a", "1", HashOf("1"));
  tracker.Mark("a", "3", HashOf("3"));
  EXPECT_EQ(tracker.Find("a", "1"), HashOf("1"));
  EXPECT_EQ(tracker.Find("a", "2"), std::nullopt);
  EXPECT_EQ(tracker.Find("a", "3"), HashOf("3"));
}

TEST(ContentHash, IsTheSameForContentInParts) {
  ContentHasher hasher;
  hasher.Add("ab");
  hasher.Add("");
  hasher.Add("c");
  EXPECT_EQ(hasher.Finish(), HashOf("abc"));
  EXPECT_NE(HashOf("abc"), HashOf("abd"));
}

}  // namespace
}  // namespace polybox::workspace
