#include "tools/output_view.h"

#include <gtest/gtest.h>

#include "base/testing/temp_dir.h"

namespace polybox::tools {
namespace {

TEST(ReadableText, IsWhatAPersonWouldSee) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"", ""},
      {"plain\n", "plain\n"},
      {"\x1b[1;31mred\x1b[0m\x1b[K\n", "red\n"},
      {"\x1b]0;title\aafter", "after"},
      {"\x1b]8;;url\x1b\\link", "link"},
      {"a\x1b(Bb", "aBb"},
      {"cut\x1b[", "cut"},
      {"cut\x1b", "cut"},
      {"line\r\nover\rwritten\r\n", "line\nover\rwritten\n"},
      {std::string("a\0b", 3), "a\\0b"},
      {std::string(1000, '\0'), "(1000 bytes of binary data, not shown)\n"},
      {std::string(1000, '\xff'), "(1000 bytes of binary data, not shown)\n"},
      {"caf\xc3\xa9 \xff", "caf\xc3\xa9 \xff"},
  };
  for (const auto& [bytes, text] : rows) EXPECT_EQ(ReadableText(bytes), text) << bytes;
}

class ViewOfTest : public ::testing::Test {
 protected:
  shells::OutputLogOptions Options() {
    return {.directory = dir_.path(),
            .quota = &quota_,
            .head = Bytes(1000),
            .tail = Bytes(1000),
            .ring = Bytes(5000)};
  }

  polybox::testing::TempDir dir_;
  shells::OutputQuota quota_{Bytes::MiB(1)};
};

TEST_F(ViewOfTest, WhatFitsIsShownAsItIs) {
  shells::OutputLog log(Options());
  log.Append("one\ntwo\n");
  const OutputView all = ViewOf(log, 0, 100);
  EXPECT_EQ(all.text, "one\ntwo\n");
  EXPECT_EQ(all.left_out, 0U);
  EXPECT_EQ(all.end, 8U);
  EXPECT_EQ(ViewOf(log, 4, 100).text, "two\n");
  EXPECT_EQ(ViewOf(log, 8, 100).text, "");
  EXPECT_EQ(ViewOf(log, 999, 100).text, "") << "behind the end";
}

TEST_F(ViewOfTest, TheMiddleIsLeftOutAtLineEndsAndCounted) {
  shells::OutputLog log(Options());
  for (int i = 100; i < 200; ++i) log.Append("line " + std::to_string(i) + "\n");
  const OutputView view = ViewOf(log, 0, 100);
  EXPECT_EQ(view.text,
            "line 100\nline 101\n\n... (output truncated, 810 bytes elided)\n"
            "line 192\nline 193\nline 194\nline 195\nline 196\nline 197\nline 198\nline 199\n");
  EXPECT_EQ(view.left_out, 810U);
}

TEST_F(ViewOfTest, ALongLineIsCutBetweenCharacters) {
  shells::OutputLog log(Options());
  std::string line;
  for (int i = 0; i < 200; ++i) line += "\xe2\x82\xac";
  log.Append(line);
  const OutputView view = ViewOf(log, 0, 100);
  EXPECT_TRUE(view.text.starts_with("\xe2\x82\xac"));
  EXPECT_TRUE(view.text.ends_with("\xe2\x82\xac"));
  for (std::size_t i = 0; i < view.text.size();) {
    const auto byte = static_cast<unsigned char>(view.text[i]);
    ASSERT_NE(byte & 0xc0U, 0x80U) << i;
    i += byte < 0x80U ? 1 : 3;
  }
  EXPECT_EQ(view.left_out % 3, 0U);
}

TEST_F(ViewOfTest, WhatTheStoreHasLostIsCountedToo) {
  shells::OutputLog log(Options());
  log.Append(std::string(100'000, 'x') + "\nend\n");
  const OutputView view = ViewOf(log, 0, 1'000'000);
  EXPECT_EQ(view.left_out, 100'005U - 1000U - 5000U);
  EXPECT_TRUE(view.text.ends_with("x\nend\n"));
  EXPECT_EQ(ViewOf(log, 2000, 1'000'000).left_out, 100'005U - 2000U - 5000U);
}

TEST_F(ViewOfTest, TheLastLineIsTheLastThatIsNotEmpty) {
  for (const auto& [output, line] : std::vector<std::pair<std::string, std::string>>{
           {"", ""}, {"\n\n", ""}, {"a", "a"}, {"a\nb\n\n", "b"}, {"10%\r20%", "20%"}}) {
    shells::OutputLog log(Options());
    log.Append(output);
    EXPECT_EQ(LastLine(log), line) << output;
  }
}

}  // namespace
}  // namespace polybox::tools
