#include "verify/detectors.h"

#include "verify/foreign_markers.h"
#include "verify/testing/project_fixture.h"

namespace polybox::verify {
namespace {

using DetectorsTest = testing::ProjectFixture;

TEST_F(DetectorsTest, AllMarkersOfTheRootAreSeenInTheOrderGoRustNodePythonAndThenTheOthers) {
  for (const char* marker : {"CMakeLists.txt", "pyproject.toml", "package.json", "Cargo.toml",
                             "go.mod", "composer.json"}) {
    Put(marker);
  }
  EXPECT_EQ(Choose("all"), "go rust node python cpp php");
}

TEST_F(DetectorsTest, OnlyPlainFilesOfTheRootItselfAreMarkers) {
  Put("sub/go.mod");
  Put("package.json/file");
  std::filesystem::create_symlink("sub/go.mod", root_ + "/go.mod");
  EXPECT_TRUE(detectors_.DetectAll(Open()).empty());
  EXPECT_EQ(Choose("", "sub"), "go");
}

TEST_F(DetectorsTest, SeveralLanguagesWithoutAChoiceAreAnErrorThatListsThem) {
  Put("go.mod");
  Put("package.json");
  EXPECT_EQ(Choose(""),
            "polyglot workspace: 2 project types detected (go, node) — pass `language` to pick "
            "one");
  EXPECT_EQ(Choose("  Node\n"), "node");
  EXPECT_EQ(Choose("golang"), "go");
  EXPECT_EQ(Choose("rust"), "language \"rust\" not detected in workspace; detected: go, node");
  EXPECT_EQ(Choose("klingon"),
            "language \"klingon\" not detected in workspace; detected: go, node");
}

TEST_F(DetectorsTest, AProjectOfNoShippedLanguageIsAnErrorThatNamesItsMarkers) {
  const auto message = [&](const std::string& markers) {
    return "run_tests: no Detector registered for workspace at " + root_ +
           " (found markers: " + markers + ") — this build ships Bash, C++, ";
  };
  EXPECT_TRUE(Choose("").starts_with(message("none"))) << Choose("");
  Put("build.zig");
  Put("x.cabal");
  Put("README.md");
  const std::string text = Choose("");
  EXPECT_TRUE(text.starts_with(message("build.zig, x.cabal"))) << text;
  EXPECT_TRUE(text.ends_with(" detectors. Open an issue or fork the image to add a new detector."))
      << text;
  EXPECT_EQ(Choose("go"), text);
  EXPECT_EQ(Choose("all"), text);
}

TEST_F(DetectorsTest, AWeakMarkerCountsOnlyWithoutOthersOrWhenItsLanguageIsNamed) {
  Put("test.bats");
  EXPECT_EQ(Choose(""), "bash");
  Put("go.mod");
  EXPECT_EQ(Choose(""), "go");
  EXPECT_EQ(Choose("bash"), "bash");
  EXPECT_EQ(Choose("all"), "go");
}

TEST_F(DetectorsTest, AFileBelongsToTheLanguageOfItsExtension) {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"a.go", "go"}, {"dir/a.py", "python"}, {"a.tsx", "node"}, {"a.h", "cpp"}, {"a.rs", "rust"}};
  for (const auto& [file, language] : rows) {
    const Detector* detector = detectors_.FindByFile(file);
    ASSERT_NE(detector, nullptr) << file;
    EXPECT_EQ(detector->Language(), language) << file;
  }
  EXPECT_EQ(detectors_.FindByFile("Cargo.toml"), nullptr);
  EXPECT_EQ(detectors_.FindByFile("README"), nullptr);
}

TEST(ForeignMarkers, TheBuiltInFileCanBeRead) {
  const EmbeddedFile& file = ForeignMarkerFiles().front();
  const auto markers = ParseForeignMarkers(file.content, std::string(file.name));
  ASSERT_TRUE(markers.ok()) << markers.error().message();
  EXPECT_GT(markers->size(), 20U);
}

TEST(ForeignMarkers, NoneIsAMarkerOfAShippedLanguage) {
  const auto registry = languages::Registry::Load(languages::BuiltinFiles(), {});
  ASSERT_TRUE(registry.ok());
  for (const languages::Language& language : registry->all()) {
    if (!language.verify) continue;
    EXPECT_EQ(ForeignMarkersIn(language.verify->markers), std::vector<std::string>{})
        << language.id;
  }
}

}  // namespace
}  // namespace polybox::verify
