#include "json/parse.h"

#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "json/write.h"

namespace polybox::json {
namespace {

std::string MessageOf(std::string_view text, const ParseLimits& limits = {}) {
  const Result<Value> value = Parse(text, limits);
  return value.ok() ? "" : value.error().message();
}

TEST(Parse, ReadsEveryKindOfValueAndWritesItAgain) {
  for (const std::string_view text : {"null", "true", "-12", "18446744073709551615", "1.5E0",
                                      R"("a\u00e9\n")", "[]", "[1,[2]]", R"({"a":{"b":[]}})"}) {
    const Result<Value> value = Parse(text);
    ASSERT_TRUE(value.ok()) << value.error().message();
    const Result<Value> again = Parse(Write(*value));
    ASSERT_TRUE(again.ok()) << again.error().message();
    EXPECT_EQ(*again, *value) << text;
  }
}

TEST(Parse, TextThatIsNotOneValueIsRefusedWithItsPosition) {
  EXPECT_EQ(MessageOf(""), "not JSON: the text ends too early at byte 0");
  EXPECT_EQ(MessageOf("[1,"), "not JSON: the text ends too early at byte 3");
  EXPECT_EQ(MessageOf("{} x"), "not JSON: text after the value at byte 3");
  EXPECT_EQ(MessageOf(" 1 2"), "not JSON: text after the value at byte 3");
  for (const std::string_view text :
       {"[1,]", "{a:1}", "// no", "'a'", "\"\xff\"", "nul", "01", "NaN", "\"\\ud800\""}) {
    EXPECT_NE(MessageOf(text), "") << text;
  }
}

TEST(Parse, DepthIsBounded) {
  const ParseLimits limits = {.depth = 10};
  const auto nested = [](std::size_t levels) {
    return std::string(levels, '[') + std::string(levels, ']');
  };
  EXPECT_EQ(MessageOf(nested(10), limits), "");
  EXPECT_EQ(MessageOf(nested(11), limits),
            "not JSON: more than 10 levels of arrays and objects at byte 10");
  EXPECT_NE(MessageOf(std::string(1'000'000, '[')), "");
}

TEST(Parse, SizeIsBounded) {
  EXPECT_EQ(MessageOf("12345", {.size = Bytes(4)}), "the JSON text has 5 bytes, more than 4B");
}

TEST(Parse, MemoryIsBoundedWhateverTheTextIsMadeOf) {
  const ParseLimits limits = {.memory = Bytes::KiB(64)};
  const auto list_of = [](const std::string& item) {
    std::string text = "[" + item;
    for (int i = 0; i < 20'000; ++i) text += "," + item;
    return text + "]";
  };
  for (const char* item : {"1", "[]", "{}", "\"\"", R"({"a":1})"}) {
    EXPECT_EQ(MessageOf(list_of(item), limits), "the JSON text needs more than 64KiB of memory")
        << item;
  }
  EXPECT_EQ(MessageOf('"' + std::string(100'000, 'x') + '"', limits),
            "the JSON text needs more than 64KiB of memory");
}

TEST(Parse, AdditionsToAValueAreNotChargedToItsText) {
  Result<Value> value = Parse("{}", {.memory = Bytes::KiB(8)});
  ASSERT_TRUE(value.ok());
  value->get_object()["text"] = Text(std::string(100'000, 'x'));
  EXPECT_EQ(value->get_object()["text"].get_string().size(), 100'000U);
}

TEST(Write, NumbersAreDecimalAndKeepTheirKind) {
  const Array numbers = {0.5, 5.0, -1e300, 12.345, 7, std::numeric_limits<double>::infinity()};
  EXPECT_EQ(Write(numbers), "[0.5,5.0,-1e+300,12.345,7,null]");
}

TEST(Write, TextsAreEscaped) {
  EXPECT_EQ(Write(Object{{"a\"\n", Texts(std::vector<std::string>{"\x01\\", "/<\u00e9"})},
                         {"none", Array{}}}),
            "{\"a\\\"\\n\":[\"\\u0001\\\\\",\"/<\u00e9\"],\"none\":[]}");
}

TEST(Text, BytesThatAreNotUtf8AreReplaced) {
  EXPECT_EQ(Write(Text("a\xff"
                       "b")),
            "\"a\uFFFDb\"");
}

}  // namespace
}  // namespace polybox::json
