#include "json/line_parser.h"

#include <string>

#include <gtest/gtest.h>

namespace polybox::json {
namespace {

TEST(LineParser, ParsesOneObjectAfterTheOther) {
  LineParser parser;
  for (int i = 0; i < 1000; ++i) {
    const auto object = parser.Parse("{\"number\": " + std::to_string(i) + "}");
    ASSERT_TRUE(object.ok()) << object.error().message();
    EXPECT_EQ((*object)->at("number").as_int64(), i);
  }
}

TEST(LineParser, ParsesALongLineToo) {
  LineParser parser;
  const auto object = parser.Parse("{\"text\": \"" + std::string(100'000, 'x') + "\"}");
  ASSERT_TRUE(object.ok()) << object.error().message();
  EXPECT_EQ((*object)->at("text").as_string().size(), 100'000U);
}

TEST(LineParser, SaysWhatIsWrongAndGoesOn) {
  LineParser parser;
  EXPECT_EQ(parser.Parse("{\"cut\": \"he").error().message(),
            "not JSON: the text ends too early at byte 11");
  EXPECT_EQ(parser.Parse("[]").error().message(), "not JSON: no object");
  EXPECT_FALSE(parser.Parse("{} {}").ok());
  EXPECT_TRUE(parser.Parse("{}").ok());
}

TEST(LineParser, ReplacesBytesThatAreNotUtf8) {
  LineParser parser;
  const auto object = parser.Parse("{\"text\": \"a\xff\"}");
  ASSERT_TRUE(object.ok()) << object.error().message();
  EXPECT_EQ((*object)->at("text").as_string(), "a\xEF\xBF\xBD");
}

}  // namespace
}  // namespace polybox::json
