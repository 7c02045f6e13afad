#include "sys/write_beneath.h"

#include <fcntl.h>
#include <filesystem>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/files.h"
#include "base/testing/temp_dir.h"

namespace polybox::sys {
namespace {

class WriteBeneathTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(inside());
    directory_ = OpenFile(inside(), O_RDONLY | O_DIRECTORY).value();
  }

  std::string inside() const { return std::string(temp_.path()) + "/inside"; }
  std::string outside() const { return std::string(temp_.path()) + "/outside"; }
  Status Write(const std::string& path, std::string_view content,
               Existing existing = Existing::kKeep) {
    return WriteBeneath(directory_.get(), path, content, existing);
  }
  std::string Read(const std::string& path) { return ReadFile(path).value_or("(none)"); }

  testing::TempDir temp_;
  UniqueFd directory_;
};

TEST_F(WriteBeneathTest, DirectoriesOnTheWayAreMade) {
  ASSERT_TRUE(Write("a/b/c.txt", "text").ok());
  EXPECT_EQ(Read(inside() + "/a/b/c.txt"), "text");
  ASSERT_TRUE(Write("a/b/d.txt", "more").ok());
}

TEST_F(WriteBeneathTest, NoPathLeadsOut) {
  std::filesystem::create_directory(outside());
  for (const char* path : {"../outside/x", "a/../../outside/x", "/tmp/x", ".."}) {
    EXPECT_FALSE(Write(path, "text").ok()) << path;
    EXPECT_FALSE(Write(path, "text", Existing::kReplace).ok()) << path;
  }
  EXPECT_TRUE(std::filesystem::is_empty(outside()));
}

TEST_F(WriteBeneathTest, NoLinkIsFollowed) {
  std::filesystem::create_directory(outside());
  std::filesystem::create_directory_symlink(outside(), inside() + "/link");
  std::filesystem::create_symlink(outside() + "/x", inside() + "/file");
  for (const Existing existing : {Existing::kKeep, Existing::kReplace}) {
    EXPECT_FALSE(Write("link/x", "text", existing).ok());
    EXPECT_FALSE(Write("file", "text", existing).ok());
  }
  EXPECT_TRUE(std::filesystem::is_empty(outside()));
}

TEST_F(WriteBeneathTest, AFileThatExistsIsKeptUnlessItMayBeReplaced) {
  ASSERT_TRUE(Write("a", "old").ok());
  const Status kept = Write("a", "new");
  ASSERT_FALSE(kept.ok());
  EXPECT_EQ(kept.error().system_errno(), EEXIST);
  EXPECT_EQ(Read(inside() + "/a"), "old");
  ASSERT_TRUE(Write("a", "new", Existing::kReplace).ok());
  EXPECT_EQ(Read(inside() + "/a"), "new");
}

TEST_F(WriteBeneathTest, OnlyAPlainFileIsReplacedAndNothingIsWaitedFor) {
  ASSERT_EQ(::mkfifo((inside() + "/pipe").c_str(), 0600), 0);
  std::filesystem::create_directory(inside() + "/directory");
  for (const char* path : {"pipe", "directory"}) {
    EXPECT_FALSE(Write(path, "text", Existing::kReplace).ok()) << path;
    EXPECT_FALSE(Write(path, "text").ok()) << path;
  }
}

}  // namespace
}  // namespace polybox::sys
