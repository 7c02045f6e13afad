#include "workspace/ignore_rules.h"

#include <vector>

#include <gtest/gtest.h>

namespace polybox::workspace {
namespace {

constexpr EntryKind kFile = EntryKind::kOther;
constexpr EntryKind kDirectory = EntryKind::kDirectory;

struct Row {
  const char* rules;
  const char* path;
  EntryKind kind;
  std::optional<Verdict> verdict;
};

TEST(IgnoreRules, DecideAsGitDoes) {
  const std::vector<Row> rows = {
      {"*.o\n", "a.o", kFile, Verdict::kIgnored},
      {"*.o\n", "x/y/a.o", kFile, Verdict::kIgnored},
      {"*.o\n", "a.c", kFile, std::nullopt},
      {"*.o\n!keep.o\n", "keep.o", kFile, Verdict::kKept},
      {"!keep.o\n*.o\n", "keep.o", kFile, Verdict::kIgnored},
      {"/build\n", "build", kDirectory, Verdict::kIgnored},
      {"/build\n", "x/build", kDirectory, std::nullopt},
      {"build/\n", "x/build", kDirectory, Verdict::kIgnored},
      {"build/\n", "build", kFile, std::nullopt},
      {"doc/*.txt\n", "doc/a.txt", kFile, Verdict::kIgnored},
      {"doc/*.txt\n", "x/doc/a.txt", kFile, std::nullopt},
      {"**/logs\n", "x/y/logs", kDirectory, Verdict::kIgnored},
      {"a/**/b\n", "a/x/y/b", kFile, Verdict::kIgnored},
      {"a/**\n", "a/b", kFile, Verdict::kIgnored},
      {"a/**\n", "a", kDirectory, std::nullopt},
      {"# a\n\n", "# a", kFile, std::nullopt},
      {"\\#a\n", "#a", kFile, Verdict::kIgnored},
      {"\\!a\n", "!a", kFile, Verdict::kIgnored},
      {"a  \n", "a", kFile, Verdict::kIgnored},
      {"a\\ \n", "a ", kFile, Verdict::kIgnored},
      {"a\r\n", "a", kFile, Verdict::kIgnored},
      {"\xEF\xBB\xBF*.o", "a.o", kFile, Verdict::kIgnored},
      {"{a,b}\n", "a", kFile, std::nullopt},
      {"[\n*.o\n", "a.o", kFile, Verdict::kIgnored},
      {"/\n", "a", kDirectory, std::nullopt},
  };
  for (const Row& row : rows) {
    const IgnoreRules rules = IgnoreRules::Parse(row.rules);
    EXPECT_EQ(rules.Judge(row.path, row.kind), row.verdict) << row.rules << " on " << row.path;
  }
}

}  // namespace
}  // namespace polybox::workspace
