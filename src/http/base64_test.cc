#include "http/base64.h"

#include <gtest/gtest.h>

namespace polybox::http {
namespace {

TEST(Base64, IsWrittenWithPadding) {
  const std::pair<std::string, std::string> kCases[] = {
      {"", ""},        {"f", "Zg=="},        {"fo", "Zm8="},
      {"foo", "Zm9v"}, {"foob", "Zm9vYg=="}, {std::string("\0\xff\xfe", 3), "AP/+"},
  };
  for (const auto& [bytes, text] : kCases) {
    EXPECT_EQ(EncodeBase64(bytes), text);
    EXPECT_EQ(Base64Length(bytes.size()), text.size());
    EXPECT_EQ(DecodeBase64(text).value(), bytes);
  }
}

/// The result of Go's StdEncoding for each text: the bytes in hexadecimal digits, or the position
/// of the error.
struct Case {
  std::string text;
  std::string bytes;
  int illegal_at = -1;
};

std::string ToHex(const std::string& bytes) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string hex;
  for (const char c : bytes) {
    hex += kDigits[static_cast<unsigned char>(c) >> 4U];
    hex += kDigits[static_cast<unsigned char>(c) & 15U];
  }
  return hex;
}

TEST(Base64, IsReadAsGoReadsIt) {
  const std::vector<Case> cases = {
      {"ZA\nQwAA=g=QQ\r", "", 7},
      {"QZgxgZw", "", 4},
      {"QQxwQgw+gZ", "", 8},
      {"ggA=wAAAwZg", "", 4},
      {"g+!QZwgQgww", "", 2},
      {"AgZAwZAA", "020640c19000"},
      {"Q\n", "", 1},
      {"gggAwxgQgQx", "", 8},
      {"Z/ZAgAw\rAA", "", 9},
      {"ZQQQw", "", 4},
      {"", ""},
      {"ZQgZ", "650819"},
      {"wZ", "", 0},
      {"w+gAwZQAA", "", 8},
      {"QQwgw\nwwgg+Z", "", 9},
      {"gZQZwgQwAZZ!", "", 11},
      {"ZQw!ggAZZZAAA", "", 3},
      {"ZQA", "", 0},
      {"Z+A\rA", "67e000"},
      {"ZQQ!Q=QZwg", "", 3},
      {"Z", "", 0},
      {"Agg\rZZZZ/Qw", "", 9},
      {"wA+wg=AQAZwQ/", "", 5},
      {"QwQwwg", "", 4},
      {"wZQ\r\nw=gQwQgw", "", 6},
      {"QAwA=wwQA", "", 4},
      {"/w!AQwZA", "", 2},
      {"AA\rgZQg\n", "", 6},
      {"ZwAZ=", "", 4},
      {"+w+wZ\rwQA=AAw", "", 9},
      {"=", "", 0},
      {"wxQQw!A!gg+", "", 5},
      {"\n/\nAQQgZAwwg", "", 10},
      {"Z!g=!QgwAQ\n", "", 1},
      {"ZwQAZ==AwQZg", "", 5},
      {"wwwQZAAgwgZwZ", "", 12},
      {"QAwAw\nAZQAAQA", "400c00c00650000400"},
      {"w=g", "", 1},
      {"gQ\r/QQ", "", 5},
      {"wAwQ=gZ", "", 4},
      {"g!xAQZ/A", "", 1},
      {"\nQQZQQQ", "", 5},
      {"!=gAZAZA", "", 0},
      {"wZ\r", "", 1},
      {"AwZA=QgQ", "", 4},
      {"Ag!gQ=+=QZwQ", "", 2},
      {"xg\rw!AgQZZ=", "", 4},
      {"QwAww/AQwQg=A", "", 12},
      {"AA=QA", "", 2},
      {"\rZ/QZAw=", "", 8},
      {"ZZZ!QQgwwQ", "", 3},
      {"Q=QZ\rwwgg", "", 1},
      {"wwQw+/A!QwQg", "", 7},
      {"wgQ+QgA\ng", "c2043e420020"},
      {"AAZQgQ=ggQ", "", 6},
      {"QgQAZwZQ=Q", "", 8},
      {"Q\nQZAQZA", "", 5},
      {"x!xQQQQA/Q", "", 1},
      {"Ag=gZw", "", 2},
      {"wQAAQ=", "", 5},
      {"xwQ!xA", "", 3},
      {"+wAww=ggg", "", 5},
      {"Q/A=", "43f0"},
      {"\rAQQ", "", 1},
      {"=/ZwQwQgAg", "", 0},
      {"A=AQQ=", "", 1},
      {"ZgwAQA!", "", 6},
      {"\r=w", "", 1},
      {"Qg=w//!wQ", "", 2},
      {"gw!Z!wAQww\n", "", 2},
  };
  for (const Case& c : cases) {
    const auto decoded = DecodeBase64(c.text);
    if (c.illegal_at < 0) {
      ASSERT_TRUE(decoded.ok()) << c.text;
      EXPECT_EQ(ToHex(*decoded), c.bytes) << c.text;
    } else {
      ASSERT_FALSE(decoded.ok()) << c.text;
      EXPECT_EQ(decoded.error().message(),
                "illegal base64 data at input byte " + std::to_string(c.illegal_at))
          << c.text;
    }
  }
}

}  // namespace
}  // namespace polybox::http
