#include "tools/document_uri.h"

#include <gtest/gtest.h>

namespace polybox::tools {
namespace {

TEST(OutputUri, IsTakenApart) {
  const OutputUri plain = ParseOutputUri("output:///id/stdout")->value();
  EXPECT_EQ(plain.shell_id, "id");
  EXPECT_EQ(plain.stream, "stdout");
  EXPECT_EQ(plain.from, 0U);
  EXPECT_FALSE(plain.bytes.has_value());
  const OutputUri part = ParseOutputUri("output:///id/output?from=12&bytes=34")->value();
  EXPECT_EQ(part.from, 12U);
  EXPECT_EQ(part.bytes, 34U);
}

TEST(OutputUri, OthersAreNoneOrWrong) {
  for (const char* uri : {"", "file:///a", "output://id/stdout", "Output:///id/stdout"}) {
    EXPECT_FALSE(ParseOutputUri(uri).has_value()) << uri;
  }
  for (const char* uri :
       {"output:///", "output:///id", "output:///id/a/b", "output:///id/a?from",
        "output:///id/a?from=", "output:///id/a?from=-1", "output:///id/a?from=1x",
        "output:///id/a?to=1", "output:///id/a?from=99999999999999999999999"}) {
    const auto parsed = ParseOutputUri(uri);
    ASSERT_TRUE(parsed.has_value()) << uri;
    EXPECT_FALSE(parsed->ok()) << uri;
  }
}

TEST(FileUri, NamesAPathOfThisHost) {
  EXPECT_EQ(PathOfFileUri("file:///a/b%20c%25")->value(), "/a/b c%");
  EXPECT_EQ(PathOfFileUri("file://localhost/a")->value(), "/a");
  EXPECT_EQ(PathOfFileUri("file:///%e4%B8%ad")->value(), "/\xe4\xb8\xad");
  EXPECT_FALSE(PathOfFileUri("https://a/b").has_value());
  for (const char* uri :
       {"file://", "file://host/a", "file:///a%", "file:///a%2", "file:///a%zz", "file:///a%00b"}) {
    const auto path = PathOfFileUri(uri);
    ASSERT_TRUE(path.has_value()) << uri;
    EXPECT_FALSE(path->ok()) << uri;
  }
}

}  // namespace
}  // namespace polybox::tools
