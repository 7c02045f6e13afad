// Uses a tmpfs of the test's own, which is mounted nowhere.
#include "jail/init/trace.h"

#include <fcntl.h>
#include <functional>
#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <linux/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

#include "base/unique_fd.h"

namespace polybox::jail::init {
namespace {

UniqueFd MakeTmpfs() {
  const UniqueFd context(static_cast<int>(::syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC)));
  if (!context.valid() ||
      ::syscall(SYS_fsconfig, context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) {
    return UniqueFd();
  }
  return UniqueFd(static_cast<int>(::syscall(SYS_fsmount, context.get(), FSMOUNT_CLOEXEC, 0)));
}

class TraceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!directory_.valid()) GTEST_SKIP() << "no rights to mount";
    LearnWhetherEveryChangeShows(path_);
    if (!EveryChangeShows()) GTEST_SKIP() << "this kernel does not tell every change";
  }

  UniqueFd Nameless() const {
    return UniqueFd(::open(path_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  }
  int Link(const UniqueFd& file, const char* name) const {
    return ::linkat(AT_FDCWD, fmt::format("/proc/self/fd/{}", file.get()).c_str(), AT_FDCWD,
                    Inside(name).c_str(), AT_SYMLINK_FOLLOW);
  }
  std::string Inside(const char* name) const { return path_ + "/" + name; }

  const UniqueFd directory_ = MakeTmpfs();
  const std::string path_ = fmt::format("/proc/self/fd/{}", directory_.get());
};

TEST_F(TraceTest, AnUntouchedSlotHasNoTrace) {
  Trace trace = LookAt(path_);
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(IsAsItWas(path_, trace)) << i;
}

TEST_F(TraceTest, EachActOfAGuestLeavesATrace) {
  const std::pair<const char*, std::function<int()>> deeds[] = {
      {"a directory", [&] { return ::mkdir(Inside("x").c_str(), 0700); }},
      {"its end", [&] { return ::rmdir(Inside("x").c_str()); }},
      {"a mode", [&] { return ::chmod(path_.c_str(), 0700); }},
      {"times", [&] { return ::utimensat(AT_FDCWD, path_.c_str(), nullptr, 0); }},
      {"an attribute", [&] { return ::setxattr(path_.c_str(), "user.x", "y", 1, 0); }},
      {"an inode without a name", [&] { return Nameless().valid() ? 0 : -1; }},
  };
  for (const auto& [name, deed] : deeds) {
    Trace trace = LookAt(path_);
    EXPECT_EQ(deed(), 0) << name;
    EXPECT_FALSE(IsAsItWas(path_, trace)) << name;
    EXPECT_FALSE(IsAsItWas(path_, trace)) << name << ": a trace that was lost stays lost";
  }
}

// A new hard link gives the directory the change time of the linked file. That time may equal the
// directory's time before.
TEST_F(TraceTest, ALinkShowsThoughTheTimeMayNot) {
  for (int i = 0; i < 200; ++i) {
    Trace trace = LookAt(path_);
    ASSERT_EQ(Link(Nameless(), "left"), 0);
    EXPECT_FALSE(IsAsItWas(path_, trace)) << i;
    ASSERT_EQ(::unlink(Inside("left").c_str()), 0);
  }
}

}  // namespace
}  // namespace polybox::jail::init
