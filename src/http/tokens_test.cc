#include "http/tokens.h"

#include <gtest/gtest.h>

#include "base/testing/temp_dir.h"

namespace polybox::http {
namespace {

std::string LabelOf(const Tokens& tokens, const std::string& name, const std::string& value) {
  Request request;
  request.headers = {{name, value}};
  return tokens.LabelOf(request);
}

TEST(Tokens, EveryLineIsOneAndCommentsAreNot) {
  const Result<Tokens> tokens =
      Tokens::Parse("# for agents\r\n\r\naaaaaaaaaaaaaaaa\r\n  bbbbbbbbbbbbbbbb  \n");
  ASSERT_TRUE(tokens.ok()) << tokens.error().message();
  EXPECT_EQ(LabelOf(*tokens, "authorization", "bearer aaaaaaaaaaaaaaaa"), "token-3");
  EXPECT_EQ(LabelOf(*tokens, "X-POLYBOX-TOKEN", " bbbbbbbbbbbbbbbb "), "token-4");
  for (const char* wrong : {"", "Bearer", "Bearer ", "aaaaaaaaaaaaaaaa", "Bearer # for agents",
                            "Bearer aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "Bearer aaaaaaaaaaaaaaa"}) {
    EXPECT_EQ(LabelOf(*tokens, "Authorization", wrong), "") << wrong;
  }
}

TEST(Tokens, AFileWithoutOneIsAnError) {
  EXPECT_EQ(Tokens::Parse("# none\n").error().message(), "it holds no token");
  EXPECT_EQ(Tokens::Parse("aaaaaaaaaaaaaaaa\nshort\n").error().message(),
            "line 2: a token needs at least 16 characters");
  const polybox::testing::TempDir dir;
  const std::string file = dir.Write("tokens", "");
  EXPECT_EQ(Tokens::Load(file).error().message(),
            "read the tokens of " + file + ": it holds no token");
  EXPECT_FALSE(Tokens::Load(dir.path() + "/none").ok());
}

}  // namespace
}  // namespace polybox::http
