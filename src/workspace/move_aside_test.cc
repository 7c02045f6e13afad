#include "workspace/move_aside.h"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/testing/temp_dir.h"

namespace polybox::workspace {
namespace {

namespace fs = std::filesystem;

class MovesAside : public ::testing::Test {
 protected:
  Result<std::string> Move(const std::string& path) const {
    return MoveAside(root_.get(), path, {::geteuid(), ::getegid()});
  }

  const testing::TempDir host_;
  const UniqueFd root_{::open(host_.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};
};

TEST_F(MovesAside, AnEntryOfAnyKindKeepsItsContentUnderTheFirstFreeName) {
  host_.Write("d/f", "one");
  EXPECT_EQ(Move("d/f").value(), "d/f.moved-aside-1");
  host_.Write("d/f", "two");
  EXPECT_EQ(Move("d/f").value(), "d/f.moved-aside-2");
  EXPECT_EQ(ReadFile(host_.path() + "/d/f.moved-aside-1").value(), "one");
  EXPECT_EQ(Move("d").value(), "d.moved-aside-1");
  fs::create_symlink("nowhere", host_.path() + "/link");
  EXPECT_EQ(Move("link").value(), "link.moved-aside-1");
}

TEST_F(MovesAside, NothingIsMovedThroughALinkOrOutOfTheTree) {
  const testing::TempDir other;
  const std::string file = other.Write("f", "");
  fs::create_symlink(other.path(), host_.path() + "/link");
  EXPECT_FALSE(Move("link/f").ok());
  EXPECT_FALSE(Move("../" + fs::path(other.path()).filename().string() + "/f").ok());
  EXPECT_TRUE(fs::exists(file));
}

TEST_F(MovesAside, TheNamesEnd) {
  EXPECT_EQ(Move("f").error().system_errno(), ENOENT);
  for (int i = 1; i <= kMostAside; ++i) host_.Write(fmt::format("f.moved-aside-{}", i), "");
  host_.Write("f", "");
  EXPECT_EQ(Move("f").error().system_errno(), EMFILE);
  EXPECT_TRUE(fs::exists(host_.path() + "/f"));
}

}  // namespace
}  // namespace polybox::workspace
