#include "exec/program_files.h"

#include <filesystem>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/testing/temp_dir.h"
#include "languages/builtin.h"

namespace polybox::exec {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

class ProgramFilesTest : public ::testing::Test {
 protected:
  Result<ProgramFiles> Read(ProgramFilesQuery query) {
    for (std::string& path : query.paths) path = temp_.path() + "/" + path;
    return ReadProgramFiles(registry_, query);
  }
  /// Returns the names of the files, the entry first, or the error.
  Names NamesOf(const ProgramFilesQuery& query) {
    const auto read = Read(query);
    if (!read.ok()) return {"error: " + read.error().message()};
    Names names;
    for (const jail::InputFile& file : read->files) names.push_back(file.name);
    return names;
  }

  testing::TempDir temp_;
  const languages::Registry registry_ =
      languages::Registry::Load(languages::BuiltinFiles(), {}).value();
};

TEST_F(ProgramFilesTest, AFileBelowTheEntrysDirectoryKeepsItsPath) {
  temp_.Write("app/main.py", "");
  temp_.Write("app/lib/x.py", "");
  temp_.Write("other/data.csv", "");
  temp_.Write("other/more/a", "");
  EXPECT_EQ(NamesOf({.paths = {"app/main.py", "app/lib/x.py", "other/data.csv", "other/more/"}}),
            (Names{"main.py", "lib/x.py", "data.csv", "more/a"}));
  EXPECT_EQ(NamesOf({.paths = {"app", "other/data.csv"}}),
            (Names{"main.py", "lib/x.py", "data.csv"}));
  EXPECT_EQ(NamesOf({.paths = {"app/lib/x.py", "app/main.py"}}), (Names{"x.py", "main.py"}));
}

TEST_F(ProgramFilesTest, TheEntryIsTheLikeliestNameOrTheOneThatIsAskedFor) {
  for (const char* name : {"app.py", "main.py", "z.py", "deep/main.py"}) {
    temp_.Write(std::string("d/") + name, "");
  }
  EXPECT_EQ(NamesOf({.paths = {"d"}})[0], "main.py");
  EXPECT_EQ(NamesOf({.paths = {"d"}, .entry = "deep/main.py"})[0], "deep/main.py");
  temp_.Write("d/script.py", "");
  EXPECT_EQ(NamesOf({.paths = {"d"}})[0], "script.py");
  EXPECT_EQ(NamesOf({.paths = {"d"}, .entry = "nope"})[0].find("error: --entry \"nope\""), 0U);
}

TEST_F(ProgramFilesTest, AnyFileStandsForAProgramOfALanguageThatTakesAllOfThem) {
  temp_.Write("d/a.go", "");
  temp_.Write("d/b.go", "");
  EXPECT_EQ(NamesOf({.paths = {"d"}}), (Names{"a.go", "b.go"}));
  EXPECT_EQ(Read({.paths = {"d"}})->language->id, "go");
}

TEST_F(ProgramFilesTest, LinksSpecialFilesAndHistoriesAreLeftOutAndNamed) {
  temp_.Write("d/main.py", "");
  temp_.Write("d/.git/HEAD", "");
  temp_.Write("secret", "x");
  fs::create_symlink(temp_.path() + "/secret", temp_.path() + "/d/link");
  fs::create_directory_symlink(temp_.path(), temp_.path() + "/d/up");
  ASSERT_EQ(::mkfifo((temp_.path() + "/d/pipe").c_str(), 0600), 0);
  const auto read = Read({.paths = {"d"}});
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->files.size(), 1U);
  EXPECT_EQ(read->skipped.size(), 4U);
}

TEST_F(ProgramFilesTest, TooMuchIsRefusedAsAWhole) {
  temp_.Write("d/main.py", "12345678");
  temp_.Write("d/data", "12345678");
  temp_.Write("d/a/b/c", "");
  const auto said = [&](const ProgramFilesLimits& limits) {
    return NamesOf({.paths = {"d"}, .limits = limits})[0];
  };
  EXPECT_EQ(said({}), "main.py");
  EXPECT_EQ(said({.files = 2}), "error: more than 2 files");
  EXPECT_NE(said({.file = Bytes(7)}).find("larger than 7B"), std::string::npos);
  EXPECT_EQ(said({.total = Bytes(15)}), "error: more than 15B in all");
  EXPECT_NE(said({.depth = 1}).find("too deep"), std::string::npos);
}

TEST_F(ProgramFilesTest, ALanguageWithAFixedNameTakesNoSecondFileOfThatName) {
  temp_.Write("d/other.rs", "");
  temp_.Write("d/main.rs", "");
  EXPECT_EQ(NamesOf({.paths = {"d"}})[0], "main.rs");
  EXPECT_EQ(NamesOf({.paths = {"d"}, .entry = "other.rs"})[0].find("error: Rust calls its entry"),
            0U);
}

}  // namespace
}  // namespace polybox::exec
