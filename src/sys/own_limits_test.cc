#include "sys/own_limits.h"

#include <algorithm>

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace polybox::sys {
namespace {

TEST(OwnLimits, OpenFilesAreRaisedToWhatIsAllowed) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit low = {std::min<rlim_t>(before.rlim_max, 64), before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  EXPECT_TRUE(RaiseOpenFiles().ok());
  rlimit after{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &after), 0);
  EXPECT_EQ(after.rlim_cur, before.rlim_max);
  EXPECT_EQ(after.rlim_max, before.rlim_max);
  ::setrlimit(RLIMIT_NOFILE, &before);
}

}  // namespace
}  // namespace polybox::sys
