#include "config/settings.h"

#include <set>

#include <gtest/gtest.h>

#include "base/files.h"
#include "config/reference.h"

namespace polybox::config {
namespace {

TEST(Settings, NamesAreUniqueAcrossAllRows) {
  std::set<std::string> keys;
  std::set<std::string> names;
  for (const Setting& setting : AllSettings()) {
    EXPECT_TRUE(keys.emplace(setting.key).second) << setting.key;
    EXPECT_TRUE(names.insert(EnvironmentName(setting)).second) << setting.key;
    for (const std::string_view name : setting.env) {
      EXPECT_TRUE(names.emplace(name).second) << name;
    }
    EXPECT_FALSE(setting.doc.empty()) << setting.key;
    EXPECT_FALSE(setting.doc.ends_with('.')) << setting.key;
  }
}

TEST(Settings, DefaultsAreAllowedValues) {
  const Settings defaults;
  for (const Setting& setting : AllSettings()) {
    const std::string value = ShowValue(defaults, setting);
    if (!setting.choices.empty()) {
      EXPECT_EQ(std::count(setting.choices.begin(), setting.choices.end(), value), 1)
          << setting.key;
    }
    // A list may be empty.
    if (setting.check != nullptr && !value.empty()) {
      EXPECT_EQ(setting.check(value), std::nullopt) << setting.key;
    }
  }
}

TEST(Settings, TheReferencePageIsFresh) {
  const Result<std::string> page = ReadFile(POLYBOX_SOURCE_DIR "/docs/settings.md");
  ASSERT_TRUE(page.ok()) << page.error().message();
  EXPECT_EQ(*page, ReferencePage()) << "run: make docs";
}

}  // namespace
}  // namespace polybox::config
