#include "workspace/linked_worktree.h"

#include <filesystem>
#include <functional>

#include <gtest/gtest.h>

#include "base/testing/temp_dir.h"

namespace polybox::workspace {
namespace {

namespace fs = std::filesystem;

class LinkedWorktrees : public ::testing::Test {
 protected:
  void SetUp() override {
    host_.Write("ws/.git", "gitdir: " + entry() + "\n");
    host_.Write("repo/.git/HEAD", "ref: refs/heads/main\n");
    fs::create_directories(host_.path() + "/repo/.git/objects");
    fs::create_directories(host_.path() + "/repo/.git/refs");
    host_.Write("repo/.git/worktrees/ws/gitdir", host_.path() + "/ws/.git\n");
    host_.Write("repo/.git/worktrees/ws/commondir", "../..\n");
  }

  std::string entry() const { return host_.path() + "/repo/.git/worktrees/ws"; }

  /// Returns the repository, "" if there is none, or the error.
  std::string Found() const {
    const auto workspace = Workspace::Open("ws", host_.path() + "/ws", {}).value();
    auto found = FindLinkedWorktree(*workspace);
    if (!found.ok()) return found.error().message();
    return *found ? (*found)->repository : "";
  }

  const testing::TempDir host_;
};

TEST_F(LinkedWorktrees, ARepositoryThatNamesTheWorkspaceIsFound) {
  EXPECT_EQ(Found(), fs::canonical(host_.path()).string() + "/repo/.git");
  host_.Write("ws/.git", "gitdir: ../repo/.git/worktrees/ws");
  EXPECT_EQ(Found(), fs::canonical(host_.path()).string() + "/repo/.git") << "relative";
}

TEST_F(LinkedWorktrees, OtherWorkspacesAreNone) {
  host_.Write("ws/.git", "text");
  EXPECT_EQ(Found(), "");
  host_.Write("ws/.git", "gitdir: ../repo/.git/modules/ws");
  EXPECT_EQ(Found(), "");
  fs::remove(host_.path() + "/ws/.git");
  EXPECT_EQ(Found(), "");
  fs::create_directory(host_.path() + "/ws/.git");
  EXPECT_EQ(Found(), "");
  fs::remove(host_.path() + "/ws/.git");
  fs::create_symlink("../repo/.git/worktrees/ws/gitdir", host_.path() + "/ws/.git");
  EXPECT_EQ(Found(), "");
}

TEST_F(LinkedWorktrees, ARepositoryThatDoesNotNameTheWorkspaceIsRefused) {
  host_.Write("other/.git", "");
  host_.Write("repo/.git/worktrees/ws/gitdir", host_.path() + "/other/.git\n");
  EXPECT_NE(Found().find("/gitdir does not name this workspace"), std::string::npos);
  fs::remove(entry() + "/gitdir");
  EXPECT_NE(Found().find("/gitdir does not name this workspace"), std::string::npos);
}

TEST_F(LinkedWorktrees, AnotherCommonDirectoryIsRefused) {
  host_.Write("repo/.git/worktrees/ws/commondir", "/etc\n");
  EXPECT_NE(Found().find("/commondir does not name"), std::string::npos);
}

TEST_F(LinkedWorktrees, ADirectoryThatIsNoRepositoryIsRefused) {
  fs::remove(host_.path() + "/repo/.git/objects");
  EXPECT_NE(Found().find("is no repository"), std::string::npos);
}

TEST_F(LinkedWorktrees, ARepositoryOfAnotherUserIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  ASSERT_EQ(::chown((host_.path() + "/repo/.git").c_str(), 12345, 12345), 0);
  EXPECT_NE(Found().find("belongs to another user"), std::string::npos);
}

}  // namespace
}  // namespace polybox::workspace
