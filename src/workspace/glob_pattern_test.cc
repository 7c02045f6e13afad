#include "workspace/glob_pattern.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace polybox::workspace {
namespace {

struct Row {
  const char* pattern;
  const char* path;
  bool matches;
};

TEST(Glob, MatchesWholePathsNameByName) {
  const std::vector<Row> rows = {
      {"*.go", "a.go", true},
      {"*.go", "x/a.go", false},
      {"**/*.go", "a.go", true},
      {"**/*.go", "x/y/a.go", true},
      {"x/**/a.go", "x/a.go", true},
      {"x/**/a.go", "x/y/z/a.go", true},
      {"x/**/a.go", "y/a.go", false},
      {"x/**", "x/y/z", true},
      {"x/**", "x", false},
      {"**", "x/y", true},
      {"**/x/**/y", "a/x/b/c/y", true},
      {"**/x/**/y", "a/b/c/y", false},
      {"a?c", "abc", true},
      {"a?c", "a/c", false},
      {"a?c", "aäc", true},
      {"a??c", "aäc", false},
      {"a?c",
       "a\xff"
       "c",
       true},
      {"[a-c]x", "bx", true},
      {"[!a-c]x", "bx", false},
      {"[^a-c]x", "dx", true},
      {"[]]x", "]x", true},
      {"[a-]x", "-x", true},
      {"[ä-ö]x", "öx", true},
      {"[ä-ö]x", "ux", false},
      {"a*b*c", "aXbYbZc", true},
      {"a*b*c", "aXbYbZ", false},
      {"*", ".hidden", true},
      {"\\*", "*", true},
      {"\\*", "a", false},
      {"{a,b}.ts", "b.ts", true},
      {"{a,b}.ts", "c.ts", false},
      {"src/{x/**/,}*.{ts,tsx}", "src/a.tsx", true},
      {"src/{x/**/,}*.{ts,tsx}", "src/x/y/a.ts", true},
      {"{a,{b,c}}", "c", true},
      {"\\{a}", "{a}", true},
      {"./a", "a", true},
      {"/a", "a", true},
      {"", "a", false},
      {"**/a", "b\nc/a", true},
  };
  for (const Row& row : rows) {
    const Result<Glob> glob = Glob::Compile(row.pattern);
    ASSERT_TRUE(glob.ok()) << row.pattern << ": " << glob.error().message();
    EXPECT_EQ(glob->Matches(row.path), row.matches) << row.pattern << " on " << row.path;
  }
}

TEST(Glob, AMalformedPatternIsRefusedWithItsReason) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"a[b", "malformed pattern \"a[b\": a \"[\" is not closed"},
      {"[]", "malformed pattern \"[]\": a \"[\" is not closed"},
      {"[z-a]", "malformed pattern \"[z-a]\": a range is in the wrong order"},
      {"{a,b", "malformed pattern \"{a,b\": a \"{\" is not closed"},
      {"{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}",
       "malformed pattern \"{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}\": too many "
       "alternatives"},
  };
  for (const auto& [pattern, message] : rows) {
    const Result<Glob> glob = Glob::Compile(pattern);
    ASSERT_FALSE(glob.ok()) << pattern;
    EXPECT_EQ(glob.error().message(), message);
  }
  EXPECT_FALSE(Glob::Compile(std::string(5000, 'a')).ok());
  EXPECT_TRUE(Glob::Compile("{a,b", Braces::kLiteral).ok());
}

TEST(Glob, APatternOfManyStarsEndsSoon) {
  std::string stars;
  std::string depths;
  for (int i = 0; i < 100; ++i) stars += "a*";
  for (int i = 0; i < 100; ++i) depths += "**/a/";
  std::string path;
  for (int i = 0; i < 1000; ++i) path += "a/";
  const Result<Glob> by_stars = Glob::Compile(stars + "b");
  const Result<Glob> by_depths = Glob::Compile(depths + "b");
  ASSERT_TRUE(by_stars.ok() && by_depths.ok());
  EXPECT_FALSE(by_stars->Matches(std::string(4000, 'a')));
  EXPECT_FALSE(by_depths->Matches(path));
}

}  // namespace
}  // namespace polybox::workspace
