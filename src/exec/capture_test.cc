#include "exec/capture.h"

#include <gtest/gtest.h>

namespace polybox::exec {
namespace {

TEST(Capture, TextThatFitsStaysAsItIs) {
  Capture capture(Bytes(8));
  capture.Add("abc");
  capture.Add("defgh");
  EXPECT_FALSE(capture.truncated());
  EXPECT_EQ(capture.Text(), "abcdefgh");
}

TEST(Capture, OfMoreTheFirstAndTheLastPartAreKept) {
  for (const std::size_t piece : {1U, 2U, 3U, 7U, 100U}) {
    Capture capture(Bytes(8));
    const std::string text = "abcdef0123456789yz";
    for (std::size_t at = 0; at < text.size(); at += piece) {
      capture.Add(std::string_view(text).substr(at, piece));
    }
    EXPECT_TRUE(capture.truncated());
    EXPECT_EQ(capture.Text(), "abcdef\n[... 10 bytes left out ...]\nyz") << piece;
  }
}

TEST(Capture, NothingAtAllMayBeAllowed) {
  Capture capture(Bytes(0));
  EXPECT_EQ(capture.Text(), "");
  capture.Add("x");
  EXPECT_EQ(capture.Text(), "\n[... 1 bytes left out ...]\n");
}

}  // namespace
}  // namespace polybox::exec
