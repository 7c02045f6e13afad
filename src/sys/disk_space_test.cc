#include "sys/disk_space.h"

#include <gtest/gtest.h>

#include "base/testing/temp_dir.h"

namespace polybox::sys {
namespace {

TEST(DiskSpace, ADiskIsFullBelowWhatIsWanted) {
  const testing::TempDir temp;
  EXPECT_EQ(WrongWithDisk(temp.path(), Bytes(1)), "");
  EXPECT_EQ(WrongWithDisk(temp.path(), Bytes(std::uint64_t{1} << 60U)), "is full");
}

TEST(DiskSpace, ADirectoryThatDoesNotExistYetIsOnTheDiskAboveIt) {
  const testing::TempDir temp;
  EXPECT_EQ(WrongWithDisk(temp.path() + "/a/b", Bytes(1)), "");
  EXPECT_EQ(WrongWithDisk("none", Bytes(1)), "");
}

}  // namespace
}  // namespace polybox::sys
