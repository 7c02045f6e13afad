#include "languages/toolchain.h"

#include <cstdlib>
#include <filesystem>
#include <thread>

#include <gtest/gtest.h>

#include "base/testing/temp_dir.h"
#include "languages/parse.h"
#include "languages/testing/sample.h"

namespace polybox::languages {
namespace {

using polybox::testing::TempDir;

/// A toolchain in `home/versions/NAME`, behind a shim that picks the version named in
/// `home/version`, as pyenv and similar tools do. Each call of the real program adds a line to
/// `home/calls`.
class ShimmedToolchain {
 public:
  explicit ShimmedToolchain(const std::vector<std::string>& versions) {
    for (const std::string& version : versions) {
      const std::string root = dir_.path() + "/versions/" + version;
      dir_.WriteExecutable(
          "versions/" + version + "/bin/sample-run",
          "#!/bin/sh\nhome=" + dir_.path() + "\nroot=" + root + "\nversion=" + version + R"sh(
echo "$@" >> $home/calls
case $1 in
  --version) echo "Sample $version (tested)" ;;
  --self) echo "$root/bin/sample-run" ;;
  --roots) echo "note: starting"; echo "$root"; echo "$home" ;;
esac
)sh");
    }
    Choose(versions[0]);
    dir_.WriteExecutable("shims/sample-run", "#!/bin/sh\nexec " + dir_.path() + "/versions/$(cat " +
                                                 dir_.path() + "/version)/bin/sample-run \"$@\"\n");
  }

  void Choose(const std::string& version) const { dir_.Write("version", version); }
  const std::string& home() const { return dir_.path(); }
  std::string shims() const { return dir_.path() + "/shims"; }
  FinderOptions Options() const {
    return {.path = shims(),
            .cache_file = dir_.path() + "/cache/toolchains.json",
            .packages_dir = "/none"};
  }
  /// Returns how often the real program ran since the last call of this function.
  std::size_t TakeCalls() const {
    const std::string file = dir_.path() + "/calls";
    std::ifstream stream(file);
    const auto count = std::count(std::istreambuf_iterator<char>(stream), {}, '\n');
    std::filesystem::remove(file);
    return static_cast<std::size_t>(count);
  }

 private:
  TempDir dir_;
};

Language Sample(const std::string& toolchain_lines) {
  std::string text = testing::SampleFile("sample");
  const std::string anchor = "version = [";
  text.insert(text.find(anchor), toolchain_lines + "\n");
  Result<Language> language = ParseLanguage(text, "sample.toml", {});
  EXPECT_TRUE(language.ok()) << language.error().message();
  return std::move(language).value();
}

Result<Toolchain> FindOne(const Language& language, const FinderOptions& options) {
  return std::move(FindToolchains({language}, options, log::Logger::ToStderr({})).at(language.id));
}

TEST(Toolchain, TheRealExecutableAndRootsAreFoundBehindAShim) {
  const ShimmedToolchain shimmed({"1.2"});
  const Language language = Sample(R"(executable_command = ["{binary}", "--self"]
roots_command = ["{executable}", "--roots"])");
  const auto found = FindOne(language, shimmed.Options());
  ASSERT_TRUE(found.ok()) << found.error().message();
  EXPECT_EQ(found->binary, shimmed.shims() + "/sample-run");
  EXPECT_EQ(found->executable, shimmed.home() + "/versions/1.2/bin/sample-run");
  EXPECT_EQ(found->roots,
            (std::vector<std::string>{shimmed.home() + "/versions/1.2", shimmed.home()}));
  EXPECT_EQ(found->version, "Sample 1.2 (tested)");
  EXPECT_EQ(found->VersionNumber(), "1.2");
}

TEST(Toolchain, ALinkFromElsewhereIsFollowedIntoTheToolchain) {
  const TempDir dir;
  dir.WriteExecutable("home/bin/real-run",
                      "#!/bin/sh\ncase $1 in\n  --version) echo 1.2.3 ;;\n  --me) echo \"$0\" ;;\n"
                      "  --roots) echo \"" +
                          dir.path() + "/home\" ;;\nesac\n");
  std::filesystem::create_directory(dir.path() + "/bin");
  std::filesystem::create_symlink("real-run", dir.path() + "/home/bin/linked-run");
  std::filesystem::create_symlink("../home/bin/linked-run", dir.path() + "/bin/sample-run");
  const Language language = Sample(R"(executable_command = ["{binary}", "--me"]
roots_command = ["{executable}", "--roots"])");
  const auto found =
      FindOne(language, {.path = dir.path() + "/bin", .cache_file = "", .packages_dir = "/none"});
  ASSERT_TRUE(found.ok()) << found.error().message();
  EXPECT_EQ(found->binary, dir.path() + "/bin/sample-run");
  EXPECT_EQ(found->executable, dir.path() + "/home/bin/linked-run") << "and no further";
}

TEST(Toolchain, TheVersionNumberIsTheFirstOneWithADot) {
  const std::pair<const char*, const char*> cases[] = {
      {"Python 3.11.7", "3.11.7"},
      {"x86_64-linux-gnu-g++-12 (Debian 12.2.0-14) 12.2.0", "12.2.0"},
      {"go version go1.26.8 linux/amd64", "1.26.8"},
      {"tool 7", "7"},
      {"v20.20.2", "20.20.2"},
      {"ends with 3.", "3"},
      {"nothing", ""},
  };
  for (const auto& [version, number] : cases) {
    Toolchain toolchain;
    toolchain.version = version;
    EXPECT_EQ(toolchain.VersionNumber(), number) << version;
  }
}

TEST(Toolchain, VersionsAreComparedNumberByNumber) {
  EXPECT_TRUE(IsAtLeast("1.85", "1.85"));
  EXPECT_TRUE(IsAtLeast("1.85.0", "1.85"));
  EXPECT_TRUE(IsAtLeast("1.100", "1.85"));
  EXPECT_TRUE(IsAtLeast("2", "1.85"));
  EXPECT_FALSE(IsAtLeast("1.63.0", "1.85"));
  EXPECT_FALSE(IsAtLeast("1.9", "1.10"));
  EXPECT_FALSE(IsAtLeast("", "1"));
}

TEST(Toolchain, AnOlderVersionThanNeededIsUnavailable) {
  const ShimmedToolchain shimmed({"1.2"});
  EXPECT_TRUE(FindOne(Sample("minimum_version = \"1.2\""), shimmed.Options()).ok());
  const auto found = FindOne(Sample("minimum_version = \"1.10\""), shimmed.Options());
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().message(),
            shimmed.shims() + "/sample-run is 1.2, and 1.10 or newer is needed");
}

TEST(Toolchain, AnExecutableCanBeNamedFromTheRoot) {
  const ShimmedToolchain shimmed({"1.2"});
  const Language language = Sample(R"(executable = "{root}/bin/sample-run"
roots_command = ["{binary}", "--roots"])");
  const auto found = FindOne(language, shimmed.Options());
  ASSERT_TRUE(found.ok()) << found.error().message();
  EXPECT_EQ(found->executable, shimmed.home() + "/versions/1.2/bin/sample-run");
}

TEST(Toolchain, AnswersAreRememberedUntilSomethingChanges) {
  const ShimmedToolchain shimmed({"1.2", "1.3"});
  ::setenv("POLYBOX_TEST_HOME", shimmed.home().c_str(), 1);
  const Language language = Sample(R"(executable_command = ["{binary}", "--self"]
selectors = ["$POLYBOX_TEST_HOME/version", "$POLYBOX_TEST_CHOICE"])");
  const FinderOptions options = shimmed.Options();
  ASSERT_TRUE(FindOne(language, options).ok());
  EXPECT_EQ(shimmed.TakeCalls(), 2U);
  ASSERT_TRUE(FindOne(language, options).ok());
  EXPECT_EQ(shimmed.TakeCalls(), 0U) << "nothing changed";

  shimmed.Choose("1.3\n");  // another size: a coarse clock may give the file the same time
  EXPECT_EQ(FindOne(language, options)->VersionNumber(), "1.3") << "a selector file changed";
  shimmed.TakeCalls();

  ::setenv("POLYBOX_TEST_CHOICE", "x", 1);
  ASSERT_TRUE(FindOne(language, options).ok());
  EXPECT_GT(shimmed.TakeCalls(), 0U) << "a selector variable changed";

  std::ofstream(shimmed.home() + "/versions/1.3/bin/sample-run", std::ios::app) << "# upgraded\n";
  ASSERT_TRUE(FindOne(language, options).ok());
  EXPECT_GT(shimmed.TakeCalls(), 0U) << "the real executable changed";

  Language asked_otherwise = language;
  asked_otherwise.toolchain.version = {"{executable}", "--version", "x"};
  ASSERT_TRUE(FindOne(asked_otherwise, options).ok());
  EXPECT_GT(shimmed.TakeCalls(), 0U) << "the language file asks something else";

  asked_otherwise.toolchain.env = {{"X", "1"}};
  ASSERT_TRUE(FindOne(asked_otherwise, options).ok());
  EXPECT_GT(shimmed.TakeCalls(), 0U) << "it asks in another environment";
}

TEST(Toolchain, ADamagedCacheIsNoCache) {
  const ShimmedToolchain shimmed({"1.2"});
  const Language language = Sample("");
  for (const char* content :
       {"", "{", "[]", R"({"format":1})", R"({"format":1,"entries":{"sample":3}})",
        R"({"format":"1","entries":{}})"}) {
    std::filesystem::create_directories(shimmed.home() + "/cache");
    std::ofstream(shimmed.Options().cache_file) << content;
    EXPECT_TRUE(FindOne(language, shimmed.Options()).ok()) << content;
  }
}

TEST(Toolchain, ACacheThatCannotBeWrittenOnlyCostsTime) {
  const ShimmedToolchain shimmed({"1.2"});
  FinderOptions options = shimmed.Options();
  options.cache_file = "/proc/no/such/place.json";
  EXPECT_TRUE(FindOne(Sample(""), options).ok());
}

TEST(Toolchain, AMissingBinaryIsNamedWithWhereToGetIt) {
  Language language = Sample("");
  language.image.apt = {"sample-package"};
  const auto found = FindOne(language, {.path = "/none", .cache_file = "", .packages_dir = ""});
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().kind(), ErrorKind::kUnavailable);
  EXPECT_EQ(found.error().message(), "\"sample-run\" not found on PATH");
  EXPECT_EQ(found.error().fix(), "install it and put it on PATH (Debian: sample-package)");
  language.toolchain.minimum_version = "1.24";
  const auto newer = FindOne(language, {.path = "/none", .cache_file = "", .packages_dir = ""});
  ASSERT_FALSE(newer.ok());
  EXPECT_EQ(newer.error().fix(),
            "install 1.24 or newer and put it on PATH (Debian: sample-package, if new enough)");
}

TEST(Toolchain, AShimThatFailsSaysWhy) {
  const TempDir dir;
  dir.WriteExecutable("sample-run", "#!/bin/sh\necho 'shim: no version is chosen' >&2\nexit 127\n");
  const auto found =
      FindOne(Sample(""), {.path = dir.path(), .cache_file = "", .packages_dir = ""});
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.error().message(),
            dir.path() + "/sample-run does not work: exit code 127: shim: no version is chosen");
}

TEST(Toolchain, AVersionLineCannotDriveTheTerminalOrBreakJson) {
  const TempDir dir;
  dir.WriteExecutable("sample-run", "#!/bin/sh\nprintf 'v1.0 \\033[31m\\377\\n'\n");
  const auto found =
      FindOne(Sample(""), {.path = dir.path(), .cache_file = "", .packages_dir = ""});
  ASSERT_TRUE(found.ok()) << found.error().message();
  EXPECT_EQ(found->version, "v1.0 \\u001b[31m\xEF\xBF\xBD");
}

TEST(Toolchain, AFileThatIsRequiredAndMissingIsNamed) {
  const ShimmedToolchain shimmed({"1.2"});
  FinderOptions options = shimmed.Options();
  options.packages_dir = shimmed.home() + "/packages";
  const Language language = Sample(R"(requires = ["{packages}/tsc"])");
  const auto missing = FindOne(language, options);
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().message(), options.packages_dir + "/sample/tsc is missing");
  EXPECT_EQ(missing.error().fix(), "run: polybox preinstall sample");
  std::filesystem::create_directories(options.packages_dir + "/sample/tsc");
  EXPECT_TRUE(FindOne(language, options).ok()) << "what is required is looked at every time";
}

TEST(Toolchain, LinesAfterAMarkAreTheRoots) {
  const TempDir dir;
  dir.WriteExecutable("sample-run", "#!/bin/sh\necho '    home = " + dir.path() +
                                        "' >&2; echo 'other = /usr' >&2\n");
  const Language language = Sample("roots_command = [\"{binary}\"]\nroots_after = \"home = \"");
  const auto found = FindOne(language, {.path = dir.path(), .cache_file = "", .packages_dir = ""});
  ASSERT_TRUE(found.ok()) << found.error().message();
  EXPECT_EQ(found->roots, std::vector<std::string>{dir.path()});
}

}  // namespace
}  // namespace polybox::languages
