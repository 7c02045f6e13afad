#include "base/printable.h"

#include <gtest/gtest.h>

namespace polybox {
namespace {

TEST(Printable, ControlCharactersCannotForgeLinesOrDriveATerminal) {
  EXPECT_EQ(Printable("a\nb\r\t\x1b[31m\x7f", 100), "a\\nb\\r\\t\\u001b[31m\\u007f");
  EXPECT_EQ(Printable(std::string_view("a\0b", 3), 100), "a\\u0000b");
  EXPECT_EQ(Printable("\xc2\x9b"
                      "31m",
                      100),
            "\\u009b31m");  // a C1 control
  EXPECT_EQ(Printable("a\xe2\x80\xae"
                      "b",
                      100),
            "a\\u202eb");  // right-to-left override
}

TEST(Printable, InvalidUtf8BecomesTheReplacementCharacter) {
  EXPECT_EQ(Printable("\xff", 100), "\xEF\xBF\xBD");
  EXPECT_EQ(Printable("caf\xc3\xa9", 100), "caf\xc3\xa9");
  EXPECT_EQ(Printable("\xc3", 100), "\xEF\xBF\xBD");                  // cut short
  EXPECT_EQ(Printable("\xc0\x80", 100), "\xEF\xBF\xBD\xEF\xBF\xBD");  // overlong
  EXPECT_EQ(Utf8SequenceLength("\xed\xa0\x80"), 0U);                  // surrogate
  EXPECT_EQ(Utf8SequenceLength("\xf4\x90\x80\x80"), 0U);              // beyond U+10FFFF
  EXPECT_EQ(Utf8SequenceLength("\xf0\x9f\x98\x80"), 4U);
}

TEST(Printable, ToUtf8KeepsEverythingThatIsValid) {
  EXPECT_EQ(ToUtf8("a\n\x1b\xc3\xa9"), "a\n\x1b\xc3\xa9");
  EXPECT_EQ(ToUtf8("a\xff"
                   "b\xc3"),
            "a\xEF\xBF\xBD"
            "b\xEF\xBF\xBD");
}

TEST(Printable, LongTextIsCutAndSaysSo) {
  EXPECT_EQ(Printable("abcdef", 3), "abc...");
  EXPECT_EQ(Printable("abc", 3), "abc");
}

TEST(Printable, QuotesAreEscapedOnlyWhereAsked) {
  EXPECT_EQ(Printable(R"(a"\b)", 100), R"(a"\b)");
  EXPECT_EQ(PrintableForQuotes(R"(a"\b)", 100), R"(a\"\\b)");
}

}  // namespace
}  // namespace polybox
