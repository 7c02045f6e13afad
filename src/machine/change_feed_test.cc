#include "machine/change_feed.h"

#include <fcntl.h>
#include <filesystem>

#include <gtest/gtest.h>

#include "base/testing/temp_dir.h"

namespace polybox::machine {
namespace {

namespace fs = std::filesystem;

class ChangeFeeds : public ::testing::Test {
 protected:
  void SetUp() override { Watch(host_.path(), ""); }

  void Watch(const std::string& directory, const std::string& path) {
    const UniqueFd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    EXPECT_TRUE(feed_.Watch(fd.get(), {0, path}));
  }

  /// Returns the changes since the last call.
  std::string Changes() {
    std::string text;
    complete_ = feed_.Read([&](const Change& change) {
      constexpr const char* kWords[] = {"+", "-", "=", "?"};
      text += kWords[static_cast<int>(change.kind)] + change.directory.path + "/" +
              std::string(change.name) + (change.is_directory ? "/ " : " ");
    });
    return text;
  }

  const testing::TempDir host_;
  ChangeFeed feed_ = ChangeFeed::Make().value();
  bool complete_ = true;
};

TEST_F(ChangeFeeds, EachChangeIsToldOnce) {
  EXPECT_EQ(Changes(), "");
  fs::create_directory(host_.path() + "/d");
  host_.Write("f", "x");
  fs::rename(host_.path() + "/f", host_.path() + "/g");
  fs::remove(host_.path() + "/d");
  EXPECT_EQ(Changes(), "+/d/ +/f =/f -/f +/g -/d/ ");
  EXPECT_EQ(Changes(), "");
}

TEST_F(ChangeFeeds, PathsDoNotTakeMemoryWithoutEnd) {
  const std::string megabyte(1U << 20U, 'd');
  int watched = 0;
  for (int i = 0; i < 100; ++i) {
    const std::string directory = host_.path() + "/" + std::to_string(i);
    fs::create_directory(directory);
    const UniqueFd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    watched += feed_.Watch(fd.get(), {0, std::to_string(i) + "/" + megabyte}) ? 1 : 0;
  }
  EXPECT_GT(watched, 20);
  EXPECT_LT(watched, 40);
  for (int i = 0; i < 10; ++i) feed_.Forget({0, std::to_string(i)});
  const UniqueFd fd(::open((host_.path() + "/99").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  EXPECT_TRUE(feed_.Watch(fd.get(), {0, "99/" + megabyte})) << "forgotten paths take none";
}

TEST_F(ChangeFeeds, ADirectoryThatIsWatchedAgainHasTheNewPath) {
  fs::create_directory(host_.path() + "/d");
  Watch(host_.path() + "/d", "d");
  Changes();
  fs::rename(host_.path() + "/d", host_.path() + "/e");
  Watch(host_.path() + "/e", "e");
  Changes();
  host_.Write("e/f", "");
  EXPECT_EQ(Changes(), "+e/f =e/f ");
}

TEST_F(ChangeFeeds, AForgottenDirectoryIsSilentWithAllBelowIt) {
  for (const char* name : {"d", "d/e", "d-"}) {
    fs::create_directory(host_.path() + "/" + name);
    Watch(host_.path() + "/" + name, name);
  }
  feed_.Forget({0, "d"});
  Changes();
  host_.Write("d/f", "");
  host_.Write("d/e/f", "");
  host_.Write("d-/f", "");
  EXPECT_EQ(Changes(), "+d-/f =d-/f ");
}

TEST_F(ChangeFeeds, LostChangesAreTold) {
  const std::string one = host_.Write("one", "");
  const std::string other = host_.path() + "/other";
  // The kernel keeps 16384 changes unless it is told otherwise.
  constexpr int kRenames = 10'000;
  for (int i = 0; i < kRenames; ++i) {
    fs::rename(one, other);
    fs::rename(other, one);
  }
  while (complete_ && !Changes().empty()) {
  }
  EXPECT_FALSE(complete_);
  Changes();
  EXPECT_TRUE(complete_);
}

}  // namespace
}  // namespace polybox::machine
