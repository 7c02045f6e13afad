#include "json/cache_file.h"

#include <gtest/gtest.h>

#include "base/testing/temp_dir.h"

namespace polybox::json {
namespace {

struct Entry {
  std::string name;
  std::vector<std::string> words;

  static constexpr auto Members() {
    return std::tuple(Required("name", &Entry::name), Required("words", &Entry::words));
  }
};

TEST(CacheFile, EntriesComeBackAsTheyWereWritten) {
  const testing::TempDir dir;
  const std::string file = dir.path() + "/new/cache.json";
  ASSERT_TRUE(WriteCacheFile<Entry>(file, 3, {{"a", {"x", {"y", "z"}}}, {"b", {"", {}}}}).ok());
  const auto entries = ReadCacheFile<Entry>(file, 3);
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries.at("a").name, "x");
  EXPECT_EQ(entries.at("a").words, (std::vector<std::string>{"y", "z"}));
  EXPECT_TRUE(ReadCacheFile<Entry>(file, 4).empty()) << "of another format";
}

TEST(CacheFile, ADamagedFileIsEmptyAndADamagedEntryIsLeftOut) {
  const testing::TempDir dir;
  EXPECT_TRUE(ReadCacheFile<Entry>(dir.path() + "/none", 1).empty());
  for (const char* text :
       {"", "{", "[]", R"({"format":1})", R"({"format":"1","entries":{}})",
        R"({"format":1,"entries":[]})", R"({"format":1,"entries":{"a":3,"b":{"name":"x"}}})"}) {
    EXPECT_TRUE(ReadCacheFile<Entry>(dir.Write("file", text), 1).empty()) << text;
  }
  const std::string half = dir.Write(
      "file", R"({"format":1,"entries":{"a":{"name":1},"b":{"name":"x","words":[],"later":1}}})");
  EXPECT_EQ(ReadCacheFile<Entry>(half, 1).size(), 1U);
}

}  // namespace
}  // namespace polybox::json
