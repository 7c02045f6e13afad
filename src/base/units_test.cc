#include "base/units.h"

#include <gtest/gtest.h>

namespace polybox {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

TEST(Units, SizesAreReadWithTheirUnit) {
  const std::pair<const char*, std::uint64_t> cases[] = {
      {"0B", 0},
      {"1B", 1},
      {"64KiB", 65536},
      {"64K", 65536},
      {"256MiB", 268435456},
      {"256M", 268435456},
      {"4GiB", 4294967296ULL},
      {"4G", 4294967296ULL},
  };
  for (const auto& [text, count] : cases) {
    const Result<Bytes> bytes = ParseBytes(text);
    ASSERT_TRUE(bytes.ok()) << text;
    EXPECT_EQ(bytes->count(), count) << text;
  }
}

TEST(Units, SizesWithoutAUnitOrOutOfRangeAreRefused) {
  for (const char* text : {"", "64", "MiB", "64 MiB", "64mib", "-1B", "1.5MiB", "64MB", "+1B",
                           "9223372036854775808B", "99999999999GiB", "1BB", "0x10B"}) {
    EXPECT_FALSE(ParseBytes(text).ok()) << text;
  }
}

TEST(Units, TimesAreReadWithTheirUnit) {
  const std::pair<const char*, Duration> cases[] = {
      {"500ms", milliseconds(500)}, {"30s", seconds(30)}, {"1.5s", milliseconds(1500)},
      {"2m", minutes(2)},           {"1h", hours(1)},     {"0s", seconds(0)},
  };
  for (const auto& [text, duration] : cases) {
    const Result<Duration> parsed = ParseDuration(text);
    ASSERT_TRUE(parsed.ok()) << text;
    EXPECT_EQ(*parsed, duration) << text;
  }
}

TEST(Units, TimesWithoutAUnitOrOutOfRangeAreRefused) {
  for (const char* text :
       {"", "30", "s", "-1s", "30 s", "1d", "inf s", "nans", "1e300h", ".5s", "1e3s", "1.2.3s"}) {
    EXPECT_FALSE(ParseDuration(text).ok()) << text;
  }
}

TEST(Units, OnlyABareNumberGetsAUnit) {
  EXPECT_EQ(*ParseTypedDuration("2"), std::chrono::seconds(2));
  EXPECT_EQ(*ParseTypedDuration("0.5"), std::chrono::milliseconds(500));
  EXPECT_EQ(*ParseTypedDuration("2m"), std::chrono::minutes(2));
  EXPECT_EQ(*ParseTypedBytes("2000"), Bytes(2000));
  EXPECT_EQ(*ParseTypedBytes("2K"), Bytes::KiB(2));
  for (const char* text : {"", "-2", "two", "1e3", " 2", "2 "}) {
    EXPECT_FALSE(ParseTypedDuration(text).ok()) << text;
    EXPECT_FALSE(ParseTypedBytes(text).ok()) << text;
  }
}

TEST(Units, FormattingIsTheShortestExactForm) {
  EXPECT_EQ(FormatBytes(Bytes(0)), "0B");
  EXPECT_EQ(FormatBytes(Bytes(1000)), "1000B");
  EXPECT_EQ(FormatBytes(Bytes::MiB(64)), "64MiB");
  EXPECT_EQ(FormatBytes(Bytes::MiB(4096)), "4GiB");
  EXPECT_EQ(FormatDuration(milliseconds(1500)), "1500ms");
  EXPECT_EQ(FormatDuration(seconds(90)), "90s");
  EXPECT_EQ(FormatDuration(minutes(5)), "5m");
  EXPECT_EQ(FormatDuration(seconds(0)), "0s");
}

}  // namespace
}  // namespace polybox
