#include "jail/scratch_home.h"

#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <optional>
#include <unistd.h>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/files.h"
#include "base/testing/temp_dir.h"
#include "jail/init/remove.h"

namespace polybox::jail {
namespace {

namespace fs = std::filesystem;

/// Sets $TMPDIR to a new directory.
class ScratchHomes : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const char* before = std::getenv("TMPDIR")) before_ = before;
    ::setenv("TMPDIR", temp_.path().c_str(), 1);
  }
  void TearDown() override {
    before_ ? ::setenv("TMPDIR", before_->c_str(), 1) : ::unsetenv("TMPDIR");
  }

  std::size_t Entries() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(temp_.path()), {}));
  }

  testing::TempDir temp_;
  std::optional<std::string> before_;
};

TEST_F(ScratchHomes, AreInTmpdirAndGoWithTheirOwner) {
  {
    const auto home = ScratchHome::Make(3, Visitors::kNobody);
    ASSERT_TRUE(home.ok()) << home.error().message();
    EXPECT_TRUE(home->path().starts_with(temp_.path() + "/polybox-")) << home->path();
    EXPECT_TRUE(home->path().ends_with("-slot-3")) << home->path();
    EXPECT_EQ(fs::status(home->path()).permissions(), fs::perms::owner_all);
    EXPECT_FALSE(ScratchHome::Make(3, Visitors::kNobody).ok()) << "each number once";
  }
  EXPECT_EQ(Entries(), 0U);
}

TEST_F(ScratchHomes, OfDeadServersAreSweptAndOthersAreNot) {
  const auto home = ScratchHome::Make(0, Visitors::kNobody);
  ASSERT_TRUE(home.ok());
  // No PID is that large.
  temp_.Write("polybox-4194399-1-slot-0/sandbox/file", "x");
  temp_.Write("polybox-4194399-1-slot-x/file", "x");
  temp_.Write("polybox-4194399/file", "x");
  temp_.Write("mine", "x");
  EXPECT_EQ(SweepScratchHomes(), 1);
  EXPECT_TRUE(fs::exists(home->path()));
  EXPECT_TRUE(fs::exists(temp_.path() + "/polybox-4194399/file"));
  EXPECT_TRUE(fs::exists(temp_.path() + "/mine"));
  EXPECT_EQ(Entries(), 4U);
}

TEST_F(ScratchHomes, ABaseDirectoryIsSweptLikeASlotsAndAlsoWhenAnotherUidHasIt) {
  const auto home = ScratchHome::MakeForBase();
  ASSERT_TRUE(home.ok()) << home.error().message();
  EXPECT_TRUE(fs::is_directory(home->base_path()));
  EXPECT_FALSE(ScratchHome::MakeForBase().ok()) << "there is one";
  const std::string left = temp_.Write("polybox-4194399-1-base/files/inner/file", "x");
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown((temp_.path() + "/polybox-4194399-1-base/files").c_str(), 65534, 65534), 0);
  }
  temp_.Write("polybox-base/file", "x");
  temp_.Write("mine-base/file", "x");
  EXPECT_EQ(SweepScratchHomes(), 1);
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(home->base_path()));
  EXPECT_EQ(Entries(), 3U);
}

TEST_F(ScratchHomes, OfAnotherUserStays) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to make another user's directory";
  temp_.Write("polybox-4194399-1-base/files/file", "x");
  ASSERT_EQ(::chown((temp_.path() + "/polybox-4194399-1-base").c_str(), 65534, 65534), 0);
  EXPECT_EQ(SweepScratchHomes(), 0);
}

TEST_F(ScratchHomes, ALinkNamedLikeALeftoverIsNotFollowed) {
  temp_.Write("victim/file", "x");
  fs::create_symlink(temp_.path() + "/victim", temp_.path() + "/polybox-4194399-1-slot-0");
  EXPECT_EQ(SweepScratchHomes(), 0);
  EXPECT_TRUE(fs::exists(temp_.path() + "/victim/file"));
}

/// Makes nested directories, deeper than a path can name.
void MakeDeep(const std::string& top, int depth) {
  int at = ::open(top.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::string name(100, 'd');
  for (int i = 0; i < depth; ++i) {
    ASSERT_EQ(::mkdirat(at, name.c_str(), 0700), 0);
    const int inner = ::openat(at, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ::close(at);
    at = inner;
  }
  ::close(at);
}

TEST_F(ScratchHomes, EachThingThatAGuestLeavesIsRemoved) {
  const std::string top = temp_.path() + "/top";
  const std::string victim = temp_.Write("victim/file", "x");
  ASSERT_EQ(::mkdir(top.c_str(), 0700), 0);
  MakeDeep(top, 1500);
  temp_.Write("top/polybox-0/polybox-1/file", "names that the flattening uses itself");
  temp_.Write("top/closed/inner/file", "x");
  fs::permissions(top + "/closed/inner", fs::perms::none);
  fs::permissions(top + "/closed", fs::perms::none);
  fs::create_directory_symlink(temp_.path() + "/victim", top + "/link");
  for (int i = 0; i < 3000; ++i) temp_.Write("top/many/" + std::to_string(i), "");
  const UniqueFd directory(::open(top.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  EXPECT_EQ(init::RemoveContents(directory.get()), 0);
  EXPECT_TRUE(fs::is_empty(top));
  EXPECT_TRUE(fs::exists(victim));
}

}  // namespace
}  // namespace polybox::jail
