#include "base/unique_fd.h"

#include <fcntl.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace polybox {
namespace {

bool IsOpen(int fd) {
  return ::fcntl(fd, F_GETFD) >= 0;
}

int OpenNull() {
  return ::open("/dev/null", O_RDONLY | O_CLOEXEC);
}

TEST(UniqueFd, ClosesWhatItOwnsAtTheEndOfItsScope) {
  int raw = -1;
  {
    const UniqueFd fd(OpenNull());
    raw = fd.get();
    EXPECT_TRUE(IsOpen(raw));
  }
  EXPECT_FALSE(IsOpen(raw));
}

TEST(UniqueFd, MovingTransfersOwnershipAndClosesTheOldOne) {
  UniqueFd first(OpenNull());
  UniqueFd second(OpenNull());
  const int raw_first = first.get();
  const int raw_second = second.get();
  second = std::move(first);
  EXPECT_EQ(second.get(), raw_first);
  EXPECT_FALSE(
      first.valid());  // NOLINT(bugprone-use-after-move): the moved-from state is the claim
  EXPECT_FALSE(IsOpen(raw_second));
}

TEST(UniqueFd, ReleaseGivesTheDescriptorAway) {
  UniqueFd fd(OpenNull());
  const int raw = fd.release();
  EXPECT_FALSE(fd.valid());
  EXPECT_TRUE(IsOpen(raw));
  ::close(raw);
}

}  // namespace
}  // namespace polybox
