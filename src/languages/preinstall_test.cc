#include "languages/preinstall.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/testing/temp_dir.h"

namespace polybox::languages {
namespace {

using polybox::testing::TempDir;

class Preinstalling : public ::testing::Test {
 protected:
  Preinstalling() {
    language_.id = "sample";
    language_.packages = Packages{.installer = "fake",
                                  .binaries = {"fake"},
                                  .install = {"fake", "{target}", "{requirements}"},
                                  .index_arguments = {},
                                  .mount = "",
                                  .preinstalled = {"one@1", "two@2"},
                                  .provided_check = {},
                                  .env = {}};
    language_.packages->limits.wall_time = std::chrono::minutes(1);
    toolchain_ = {.binary = "/x", .executable = "/bin/true", .roots = {"/"}, .version = "1"};
    // This installer writes one file for each package, and counts its calls.
    dir_.WriteExecutable("bin/fake",
                         "#!/bin/sh\necho x >> " + dir_.path() +
                             "/calls\ntarget=$1; shift\nfor p; do echo $p > $target/$p; done\n");
  }

  Result<PreinstallOutcome> Install() {
    return Preinstall(
        language_, toolchain_,
        {.packages_dir = dir_.path() + "/packages", .path = dir_.path() + "/bin:/bin"});
  }
  std::string File(const std::string& name) const {
    return dir_.path() + "/packages/sample/" + name;
  }

  TempDir dir_;
  Language language_;
  Toolchain toolchain_;
};

TEST_F(Preinstalling, TheSetIsInstalledOnceAndCannotBeWritten) {
  EXPECT_EQ(*Install(), PreinstallOutcome::kInstalled);
  EXPECT_EQ(*ReadFile(File("two@2")), "two@2\n");
  const auto mode = std::filesystem::status(File("two@2")).permissions();
  EXPECT_EQ(mode & std::filesystem::perms::owner_write, std::filesystem::perms::none);
  EXPECT_EQ(*Install(), PreinstallOutcome::kUpToDate);
  EXPECT_EQ(*ReadFile(dir_.path() + "/calls"), "x\n");
}

TEST_F(Preinstalling, AnotherListOrToolchainReplacesTheSet) {
  ASSERT_TRUE(Install().ok());
  language_.packages->preinstalled = {"three@3"};
  EXPECT_EQ(*Install(), PreinstallOutcome::kInstalled);
  EXPECT_TRUE(std::filesystem::exists(File("three@3")));
  EXPECT_FALSE(std::filesystem::exists(File("one@1")));
  toolchain_.version = "2";
  EXPECT_EQ(*Install(), PreinstallOutcome::kInstalled);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir_.path() + "/packages"), {}), 1)
      << "nothing is left beside the set";
}

TEST_F(Preinstalling, TheCallerChoosesTheInstallerOfTheSet) {
  const PreinstallOptions options = {.packages_dir = dir_.path() + "/packages",
                                     .path = "",
                                     .install = [](const std::string& target) -> Status {
                                       return ReplaceFile(target + "/one@1", "made elsewhere");
                                     }};
  EXPECT_EQ(*Preinstall(language_, toolchain_, options), PreinstallOutcome::kInstalled);
  EXPECT_EQ(*ReadFile(File("one@1")), "made elsewhere");
  EXPECT_FALSE(std::filesystem::exists(dir_.path() + "/calls"));
}

TEST_F(Preinstalling, AFailureLeavesWhatWasThere) {
  ASSERT_TRUE(Install().ok());
  language_.packages->preinstalled = {"../broken/path"};
  dir_.WriteExecutable("bin/fake", "#!/bin/sh\necho 'no such package\nsee the log' >&2\nexit 1\n");
  const auto outcome = Install();
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().message(), "fake failed: exit code 1: no such package\nsee the log");
  EXPECT_TRUE(std::filesystem::exists(File("one@1")));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir_.path() + "/packages"), {}), 1);
}

TEST_F(Preinstalling, PackagesOfTheToolchainAreNotInstalledAgain) {
  language_.packages->provided_check = {"{executable}"};
  EXPECT_EQ(*Install(), PreinstallOutcome::kProvided);
  EXPECT_FALSE(std::filesystem::exists(dir_.path() + "/packages"));
}

TEST_F(Preinstalling, NoPackagesAreNothingToDo) {
  language_.packages->preinstalled.clear();
  EXPECT_EQ(*Install(), PreinstallOutcome::kNothingToDo);
  language_.packages.reset();
  EXPECT_EQ(*Install(), PreinstallOutcome::kNothingToDo);
}

TEST_F(Preinstalling, AMissingInstallerIsNamed) {
  std::filesystem::remove(dir_.path() + "/bin/fake");
  const auto outcome = Install();
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().message(), "\"fake\" not found on PATH");
}

}  // namespace
}  // namespace polybox::languages
