#include "verify/text.h"

#include <string>

#include <gtest/gtest.h>

#include "verify/failure_text.h"

namespace polybox::verify {
namespace {

TEST(Kept, RemovesColorsAndControlCharacters) {
  EXPECT_EQ(Kept("\x1b[31mred\x1b[0m\a\r\n", 100), "red");
  EXPECT_EQ(Kept("bad \xff byte", 100), "bad \xEF\xBF\xBD byte");
}

TEST(Kept, KeepsTheBeginningAndTheEndOfALongText) {
  const std::string text = std::string(100, 'a') + std::string(900, 'b') + "end";
  EXPECT_EQ(Kept(text, 40),
            std::string(10, 'a') + "\n[963 bytes left out]\n" + std::string(27, 'b') + "end");
}

TEST(Kept, CutsBetweenCharacters) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "\xC3\xBC";
  EXPECT_EQ(Kept(text, 21).find("\xEF\xBF\xBD"), std::string::npos);
}

TEST(RelativePath, IsRelativeToTheProjectOnlyBelowIt) {
  EXPECT_EQ(RelativePath("/p/a/b.c", "/p"), "a/b.c");
  EXPECT_EQ(RelativePath("file:///p/a.js", "/p"), "a.js");
  EXPECT_EQ(RelativePath("./a.c", "/p"), "a.c");
  EXPECT_EQ(RelativePath("/pq/a.c", "/p"), "/pq/a.c");
}

TEST(FindLocation, SkipsFramesOfLibraries) {
  const Location found = FindLocation(
      "at x (node:internal/a.js:3:1)\nat y (/p/node_modules/z.js:4)\nat (/p/test/a.js:8:10)", "/p",
      "");
  EXPECT_EQ(found.file, "test/a.js");
  EXPECT_EQ(found.line, 8);
}

struct Compared {
  const char* text;
  const char* expected;
  const char* actual;
};

TEST(FindComparison, KnowsTheFormsOfTheRunners) {
  const Compared rows[] = {
      {"Total() = 3, want 4", "4", "3"},
      {"got 0, want 1", "1", "0"},
      {"got: \"a\"\nwant: \"b\"", "\"b\"", "\"a\""},
      {"\texpected: 4\n\tactual  : 3\n", "4", "3"},
      {"expected: <4> but was: <3>", "4", "3"},
      {"Expected: 4\nReceived: 3\n", "4", "3"},
      {"assertion failed\n  left: 3\n right: 4", "4", "3"},
      {"assert 3 == 4\n +  where", "4", "3"},
      {"Failed asserting that 3 is identical to 4.", "4", "3"},
      {"Expected values to be strictly equal:\n\n3 !== 4\n", "4", "3"},
      {"nothing to compare", "", ""},
  };
  for (const Compared& row : rows) {
    const Comparison found = FindComparison(row.text);
    EXPECT_EQ(found.expected, row.expected) << row.text;
    EXPECT_EQ(found.actual, row.actual) << row.text;
  }
}

}  // namespace
}  // namespace polybox::verify
