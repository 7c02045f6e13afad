#include "snapshots/text_diff.h"

#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace polybox::snapshots {
namespace {

TEST(TextDiff, HunksAreThoseOfGit) {
  struct Row {
    std::string before;
    std::string after;
    std::string hunks;
  };
  const std::vector<Row> rows = {
      {"", "", ""},
      {"a\n", "a\n", ""},
      {"", "a\nb\n", "@@ -0,0 +1,2 @@\n+a\n+b\n"},
      {"a\n", "", "@@ -1 +0,0 @@\n-a\n"},
      {"a\nb\nc\n", "a\nx\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n"},
      {"a", "b\n", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n"},
      {"1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\n5\n6\n7\n8\nx\n",
       "@@ -6,4 +6,4 @@\n 6\n 7\n 8\n-9\n+x\n"},
      {"x\n1\n2\n3\n4\n5\n6\n7\ny\n", "1\n2\n3\n4\n5\n6\n7\n",
       "@@ -1,4 +1,3 @@\n-x\n 1\n 2\n 3\n@@ -6,4 +5,3 @@\n 5\n 6\n 7\n-y\n"},
      {"x\n1\n2\n3\n4\n5\n6\ny\n", "1\n2\n3\n4\n5\n6\n",
       "@@ -1,8 +1,6 @@\n-x\n 1\n 2\n 3\n 4\n 5\n 6\n-y\n"},
  };
  for (const Row& row : rows) EXPECT_EQ(Hunks(row.before, row.after), row.hunks) << row.before;
}

/// Applies hunks to a text, as patch(1) does.
std::string Apply(const std::string& before, const std::string& hunks) {
  const auto lines = [](const std::string& text) {
    std::vector<std::string> all;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
      all.push_back(text.substr(at, end - at));
      at = end;
    }
    return all;
  };
  const std::vector<std::string> old_lines = lines(before);
  std::string result;
  std::size_t next = 0;
  for (const std::string& line : lines(hunks)) {
    if (line.starts_with("@@")) {
      const std::size_t start = std::stoul(line.substr(4));
      const bool empty = line.substr(0, line.find(" +")).ends_with(",0");
      for (const std::size_t first = empty ? start : start - 1; next < first; ++next) {
        result += old_lines[next];
      }
    } else if (line.starts_with("\\")) {
      result.pop_back();
    } else if (line[0] == '-') {
      EXPECT_EQ(old_lines.at(next++), line.substr(1));
    } else {
      if (line[0] == ' ') {
        EXPECT_EQ(old_lines.at(next++), line.substr(1));
      }
      result += line.substr(1);
    }
  }
  for (; next < old_lines.size(); ++next) result += old_lines[next];
  return result;
}

TEST(TextDiff, HunksLeadFromOneTextToTheOther) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    const auto text = [&] {
      std::string made;
      for (std::size_t i = random() % 40; i > 0; --i)
        made += std::string(1, "abcd"[random() % 4]) + "\n";
      return made;
    };
    const std::string before = text();
    const std::string after = text();
    ASSERT_EQ(Apply(before, Hunks(before, after)), after) << before << "---\n" << after;
  }
}

TEST(TextDiff, VeryDifferentTextsBecomeOneHunkInShortTime) {
  std::string before;
  std::string after;
  for (int i = 0; i < 100'000; ++i) {
    before += "old " + std::to_string(i) + "\n";
    after += "new " + std::to_string(i) + "\n";
  }
  const std::string hunks = Hunks(before, after);
  EXPECT_TRUE(hunks.starts_with("@@ -1,100000 +1,100000 @@\n-old 0\n"));
  EXPECT_EQ(Apply(before, hunks), after);
}

TEST(TextDiff, PathsWithControlCharactersAreQuoted) {
  EXPECT_EQ(QuotedPath("a/", "dir/file é"), "a/dir/file é");
  EXPECT_EQ(QuotedPath("a/", "x\ny\t\"\\"), "\"a/x\\ny\\t\\\"\\\\\"");
  EXPECT_EQ(QuotedPath("b/", "\xff\x01"), "\"b/\\377\\001\"");
}

TEST(TextDiff, HeadersNameKindAndModes) {
  const FileState plain = {EntryMode::kFile, IdOf(ObjectType::kBlob, "")};
  const FileState script = {EntryMode::kExecutable, plain.id};
  EXPECT_EQ(DiffHeader({"f", ChangeKind::kAdded, std::nullopt, script}),
            "diff --git a/f b/f\nnew file mode 100755\nindex 0000000..e69de29\n");
  EXPECT_EQ(DiffHeader({"f", ChangeKind::kRemoved, plain, std::nullopt}),
            "diff --git a/f b/f\ndeleted file mode 100644\nindex e69de29..0000000\n");
  EXPECT_EQ(DiffHeader({"f", ChangeKind::kMode, plain, script}),
            "diff --git a/f b/f\nold mode 100644\nnew mode 100755\n");
  EXPECT_EQ(DiffHeader({"f", ChangeKind::kContent, plain, plain}),
            "diff --git a/f b/f\nindex e69de29..e69de29 100644\n");
}

}  // namespace
}  // namespace polybox::snapshots
