#include "sys/open_below.h"

#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "base/unique_fd.h"

namespace polybox::sys {
namespace {

open_how How(unsigned flags) {
  open_how how{};
  how.flags = flags | O_CLOEXEC | O_NOFOLLOW;
  how.mode = (flags & O_CREAT) != 0 ? 0600 : 0;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  return how;
}

/// Returns 0 or the errno.
int Open(int (*open)(int, const char*, const open_how&), int directory, const char* path,
         unsigned flags) {
  const UniqueFd fd(open(directory, path, How(flags)));
  return fd.valid() ? 0 : errno;
}

class OpenBelowTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char path[] = "/tmp/polybox-open-below-XXXXXX";
    ASSERT_NE(::mkdtemp(path), nullptr);
    path_ = path;
    directory_ = UniqueFd(::open(path, O_PATH | O_DIRECTORY | O_CLOEXEC));
    ASSERT_EQ(::mkdirat(directory_.get(), "a", 0700), 0);
    ASSERT_EQ(::mkdirat(directory_.get(), "a/b", 0700), 0);
    ASSERT_TRUE(
        UniqueFd(::openat(directory_.get(), "a/b/file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600))
            .valid());
    ASSERT_EQ(::symlinkat("b", directory_.get(), "a/link"), 0);
    ASSERT_EQ(::symlinkat("/", directory_.get(), "out"), 0);
  }

  void TearDown() override { ASSERT_EQ(::system(("rm -r " + path_).c_str()), 0); }

  std::string path_;
  UniqueFd directory_;
};

TEST_F(OpenBelowTest, ComponentsOneByOneReachWhatOneCallReaches) {
  if (::syscall(SYS_openat2, -1, "", nullptr, 0) < 0 && errno == ENOSYS) {
    GTEST_SKIP() << "a filter refuses openat2";
  }
  const struct {
    const char* path;
    unsigned flags;
  } cases[] = {
      {"a/b/file", O_RDONLY},          {"a//b/./file", O_RDONLY}, {".", O_RDONLY | O_DIRECTORY},
      {"a/b", O_RDONLY | O_DIRECTORY}, {"a/b/", O_PATH},          {"a/b/new", O_WRONLY | O_CREAT},
      {"a/b/file/", O_RDONLY},         {"a/none", O_RDONLY},      {"", O_RDONLY},
      {"a/b/file", O_DIRECTORY},       {"/a", O_RDONLY},          {"../x", O_RDONLY},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(Open(OpenInSteps, directory_.get(), c.path, c.flags),
              Open(OpenBelow, directory_.get(), c.path, c.flags))
        << c.path;
  }
}

TEST_F(OpenBelowTest, ComponentsOneByOneNeverLeadOut) {
  for (const char* path :
       {"/", "..", "a/..", "a/../a", "out", "out/etc", "a/link/file", "a/b/../../.."}) {
    EXPECT_NE(Open(OpenInSteps, directory_.get(), path, O_RDONLY), 0) << path;
  }
}

TEST_F(OpenBelowTest, NoOtherFileSystemIsEntered) {
  const UniqueFd root(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
  EXPECT_EQ(Open(OpenInSteps, root.get(), "proc/self", O_RDONLY), EXDEV);
}

}  // namespace
}  // namespace polybox::sys
