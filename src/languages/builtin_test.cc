// Tests of the language files of the repository.
#include "languages/builtin.h"

#include <algorithm>
#include <sstream>

#include <gtest/gtest.h>

#include "base/files.h"
#include "languages/parse.h"
#include "languages/reference.h"
#include "languages/registry.h"
#include "limits/testing/with_number.h"

namespace polybox::languages {
namespace {

const Registry& Builtin() {
  static const Result<Registry> registry = Registry::Load(BuiltinFiles(), {});
  if (!registry.ok()) {
    ADD_FAILURE() << registry.error().message();
    std::abort();
  }
  return *registry;
}

TEST(Builtin, ThirteenLanguagesAreThereAtLeast) {
  for (const char* name : {"python", "node", "node-typescript", "go", "rust", "ruby", "bash", "c",
                           "cpp", "java", "perl", "php", "lua"}) {
    EXPECT_NE(Builtin().Find(name), nullptr) << name;
  }
  EXPECT_EQ(Builtin().Find("golang")->id, "go");
  EXPECT_EQ(Builtin().Find("shell")->id, "bash");
  EXPECT_EQ(Builtin().Find("typescript")->id, "node-typescript");
}

struct LimitRow {
  const char* language;
  bool compile;
  std::uint64_t address_space_mib;
  std::int64_t open_files;
  std::int64_t processes;
};

TEST(Builtin, TheRunDialectsLimitsAreKept) {
  const LimitRow rows[] = {
      {"node", false, 4096, 64, 64},
      {"ruby", false, 1024, 64, 32},
      {"python", false, 1024, 64, 32},
      {"go", false, 1024, 64, 64},
      {"go", true, 4096, 256, 128},
      {"rust", false, 1024, 64, 64},
      {"rust", true, 4096, 256, 128},
      {"node-typescript", false, 4096, 64, 64},
      {"node-typescript", true, 4096, 256, 64},
      {"bash", false, 512, 64, 32},
  };
  for (const LimitRow& row : rows) {
    const Language& language = *Builtin().Find(row.language);
    const Limits& limits = row.compile ? language.compile->limits : language.run.limits;
    EXPECT_EQ(limits.address_space, Bytes::MiB(row.address_space_mib)) << row.language;
    EXPECT_EQ(limits.open_files, row.open_files) << row.language;
    EXPECT_EQ(limits.processes, row.processes) << row.language;
    // Compiling real programs needs more memory than the dialect's limit.
    if (!row.compile) {
      EXPECT_EQ(limits.memory, Bytes::MiB(256)) << row.language;
    }
    EXPECT_EQ(limits.swap, Bytes(0)) << row.language;
    EXPECT_EQ(limits.file_size, Bytes::MiB(64)) << row.language;
    EXPECT_EQ(limits.stack, Bytes::MiB(8)) << row.language;
    EXPECT_EQ(limits.cpu_per_second, std::chrono::milliseconds(900)) << row.language;
  }
}

/// Returns defaults.toml, read over `limits`.
DefaultLimits DefaultsOver(DefaultLimits limits) {
  const auto file =
      std::ranges::find(BuiltinFiles(), std::string_view("defaults.toml"), &EmbeddedFile::name);
  const Status status = ParseDefaults(file->content, "defaults.toml", limits);
  EXPECT_TRUE(status.ok()) << status.error().message();
  return limits;
}

TEST(Builtin, EveryLimitHasADefaultForEachStep) {
  constexpr std::int64_t kNobodyWouldChoose = 123'457;
  for (const limits::Limit& limit : limits::kLimits) {
    const Limits odd = limits::testing::WithNumber(limit, kNobodyWouldChoose);
    const DefaultLimits defaults = DefaultsOver({odd, odd, odd});
    EXPECT_NE(limits::NumberOf(limit, defaults.run), kNobodyWouldChoose) << limit.key;
    EXPECT_NE(limits::NumberOf(limit, defaults.compile), kNobodyWouldChoose) << limit.key;
    EXPECT_NE(limits::NumberOf(limit, defaults.packages), kNobodyWouldChoose) << limit.key;
  }
}

TEST(Builtin, AProgramWithoutALanguageFileHasTheDefaultLimits) {
  EXPECT_EQ(Limits(), DefaultsOver({}).run);
}

TEST(Builtin, EveryLimitHasItsReasonDirectlyAbove) {
  for (const EmbeddedFile& file : BuiltinFiles()) {
    std::istringstream lines{std::string(file.content)};
    std::string line;
    std::string above;
    bool in_limits = false;
    for (int number = 1; std::getline(lines, line); ++number) {
      if (line.starts_with('[')) in_limits = line.ends_with(".limits]");
      if (in_limits && line.find('=') != std::string::npos && !line.starts_with('#')) {
        EXPECT_TRUE(above.starts_with('#')) << file.name << ':' << number << ": " << line;
      }
      above = line;
    }
  }
}

TEST(Builtin, TheModesAreThoseOfTheExecuteDialectInItsOrder) {
  std::vector<Mode> modes;
  for (const Language& language : Builtin().all()) {
    if (language.mode) modes.push_back(*language.mode);
  }
  std::ranges::sort(modes, {}, &Mode::order);
  std::vector<std::string> names;
  for (const Mode& mode : modes) names.push_back(mode.name);
  EXPECT_EQ(names, (std::vector<std::string>{"python", "golang", "node", "shell"}));
}

TEST(Builtin, ProjectsAreDetectedInTheOrderOfTheContract) {
  std::vector<const Language*> detected;
  for (const Language& language : Builtin().all()) {
    if (language.verify) detected.push_back(&language);
  }
  std::ranges::sort(detected, {}, [](const Language* l) { return l->verify->order; });
  std::vector<std::string> ids;
  for (const Language* language : detected) ids.push_back(language->id);
  ASSERT_GE(ids.size(), 4U);
  ids.resize(4);
  EXPECT_EQ(ids, (std::vector<std::string>{"go", "rust", "node", "python"}));
  for (std::size_t i = 1; i < detected.size(); ++i) {
    EXPECT_NE(detected[i - 1]->verify->order, detected[i]->verify->order)
        << detected[i - 1]->id << " and " << detected[i]->id;
  }
}

TEST(Builtin, SetUpCanReadTheArraysItNeeds) {
  // The shell script tools/setup reads these two arrays. It needs each on one line.
  for (const EmbeddedFile& file : BuiltinFiles()) {
    if (!file.name.ends_with(".toml") || file.name == "defaults.toml") continue;
    for (const char* key : {"\nbinaries = [\"", "\napt = ["}) {
      const std::size_t at = file.content.find(key);
      ASSERT_NE(at, std::string_view::npos) << file.name << key;
      const std::string_view rest = file.content.substr(at + 1);
      EXPECT_TRUE(rest.substr(0, rest.find('\n')).ends_with(']')) << file.name << key;
    }
  }
}

TEST(Builtin, TheDocumentedTableIsFresh) {
  const Result<std::string> page = ReadFile(POLYBOX_SOURCE_DIR "/docs/languages.md");
  ASSERT_TRUE(page.ok()) << page.error().message();
  EXPECT_EQ(*page, ReferencePage(Builtin())) << "run: make docs";
}

TEST(Builtin, EveryKeyIsDocumented) {
  const Result<std::string> readme = ReadFile(POLYBOX_SOURCE_DIR "/languages/README.md");
  ASSERT_TRUE(readme.ok()) << readme.error().message();
  for (const std::string& key : LanguageFileKeys()) {
    const std::string last = key.substr(key.rfind('.') + 1);
    const bool documented = readme->find('`' + last + '`') != std::string::npos ||
                            readme->find('[' + key + ']') != std::string::npos;
    EXPECT_TRUE(documented) << key;
  }
}

}  // namespace
}  // namespace polybox::languages
