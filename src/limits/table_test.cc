#include "limits/table.h"

#include <algorithm>
#include <filesystem>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "limits/testing/with_number.h"

namespace polybox::limits {
namespace {

using testing::WithNumber;

std::string Text(const std::string& path) {
  return ReadFile(POLYBOX_SOURCE_DIR "/" + path).value_or("");
}

/// Returns the line of `text` that begins with `begin`.
std::string LineOf(const std::string& text, const std::string& begin) {
  const std::size_t at = text.find("\n" + begin);
  if (at == std::string::npos) return "";
  return text.substr(at + 1, text.find('\n', at + 1) - at - 1);
}

std::string InCode(const std::vector<std::string_view>& names) {
  return fmt::format("`{}`", fmt::join(names, "`, `"));
}

TEST(Limits, EachHasAnEndToEndTestForItsBound) {
  for (const Limit& limit : kLimits) {
    const std::string file = fmt::format("tests/e2e/limits/{}.py", limit.key);
    EXPECT_TRUE(std::filesystem::exists(POLYBOX_SOURCE_DIR "/" + file)) << file;
  }
}

TEST(Limits, EachHasItsRowInTheManualOfLanguageFiles) {
  const std::string manual = Text("languages/README.md");
  for (const Limit& limit : kLimits) {
    const std::string row = fmt::format("\n| `{}` | {} |\n", limit.key, limit.bounds);
    EXPECT_NE(manual.find(row), std::string::npos) << "languages/README.md lacks" << row;
  }
}

TEST(Limits, TheApiPageNamesThoseOfGetLanguages) {
  std::vector<std::string_view> names;
  for (const Limit* limit : InOrderOf(&Limit::listed)) names.push_back(limit->listed.name);
  EXPECT_EQ(
      LineOf(Text("docs/api.md"), "| `limits` | `compile`"),
      "| `limits` | `compile` (null when nothing is compiled) and `run`: " + InCode(names) + " |");
}

TEST(Limits, TheApiPageNamesThoseThatARequestMayChange) {
  const std::string line = LineOf(Text("docs/api.md"), "| `limits` | name");
  ASSERT_NE(line, "");
  for (const Limit& limit : kLimits) {
    const bool named = line.find(fmt::format("`{}`", limit.listed.name)) != std::string::npos;
    EXPECT_EQ(named, limit.Changes()) << limit.key;
  }
}

TEST(Limits, ThePageOfTheCommandLineNamesEachFlag) {
  const std::string page = Text("docs/command-line.md");
  for (const Limit& limit : kLimits) {
    EXPECT_NE(page.find(limit.flag.name), std::string::npos) << limit.flag.name;
  }
}

TEST(Limits, AValueIsANumberAndATextWithItsUnit) {
  const StepLimits limits;
  const auto described = [&](std::string_view key) {
    const Limit& limit = *std::ranges::find(kLimits, key, &Limit::key);
    return fmt::format("{} {}", NumberOf(limit, limits), FormatValue(limit, limits));
  };
  EXPECT_EQ(described("cpu_per_second"), "900 900ms");
  EXPECT_EQ(described("stack"), "8388608 8MiB");
  EXPECT_EQ(described("processes"), "32 32");
  for (const Limit& limit : kLimits) {
    EXPECT_EQ(NumberOf(limit, WithNumber(limit, 17)), 17) << limit.key;
  }
}

TEST(Limits, ARequestChangesTheLimitsThatItNamesAndNoOthers) {
  for (const Limit& limit : kLimits) {
    if (!limit.Changes()) continue;
    Overrides overrides;
    Lower(limit, 17, overrides);
    StepLimits expected = WithNumber(limit, 17);
    if (limit.key == "wall_time") expected.cpu_time = expected.wall_time;
    StepLimits changed;
    Apply(overrides, changed);
    EXPECT_EQ(changed, expected) << limit.key;
  }
}

TEST(Limits, ARequestMayNameTheProcessorTimeBesideTheWallTime) {
  Overrides overrides;
  overrides.wall_time = std::chrono::seconds(9);
  overrides.cpu_time = std::chrono::seconds(3);
  StepLimits limits;
  Apply(overrides, limits);
  EXPECT_EQ(limits.wall_time, std::chrono::seconds(9));
  EXPECT_EQ(limits.cpu_time, std::chrono::seconds(3));
}

TEST(Limits, LoweringKeepsALowerValue) {
  for (const Limit& limit : kLimits) {
    if (!limit.Changes()) continue;
    Overrides overrides;
    Lower(limit, 17, overrides);
    Lower(limit, 5, overrides);
    Lower(limit, 17, overrides);
    StepLimits limits;
    Apply(overrides, limits);
    EXPECT_EQ(NumberOf(limit, limits), 5) << limit.key;
  }
}

TEST(Limits, AddressSpaceGrowsWithTheMemory) {
  RunLimits limits;
  limits.memory = Bytes::MiB(256);
  limits.address_space = Bytes::MiB(1024);
  SetMemory(limits, Bytes::MiB(4096));
  EXPECT_EQ(limits.memory, Bytes::MiB(4096));
  EXPECT_EQ(limits.address_space, Bytes::MiB(1024 + 4096 - 256));
  SetMemory(limits, Bytes::MiB(64));
  EXPECT_EQ(limits.address_space, Bytes::MiB(1024 + 4096 - 256));
  limits.address_space = Bytes(std::numeric_limits<std::uint64_t>::max());
  SetMemory(limits, Bytes::MiB(128));
  EXPECT_EQ(limits.address_space, Bytes(std::numeric_limits<std::uint64_t>::max()));
}

}  // namespace
}  // namespace polybox::limits
