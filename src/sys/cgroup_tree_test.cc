#include "sys/cgroup_tree.h"

#include <gtest/gtest.h>

namespace polybox::sys {
namespace {

TEST(CgroupTree, FindsV1AndV2OfAHybridHost) {
  const auto found = ParseCgroups(
      "27 1 254:0 / / rw - ext4 /dev/vda rw\n"
      "33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct\n"
      "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
      "40 31 0:37 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd\n"
      "41 31 0:38 / /sys/fs/cgroup/unified rw shared:9 - cgroup2 cgroup2 rw\n",
      "4:memory:/a/b\n2:cpu,cpuacct:/\n1:name=systemd:/\n0::/\n");
  ASSERT_EQ(found.size(), 4U);
  EXPECT_EQ(found[0].own_directory, "/sys/fs/cgroup/memory/a/b");
  EXPECT_EQ(found[0].controllers, std::vector<std::string>{"memory"});
  EXPECT_EQ(found[1].own_directory, "/sys/fs/cgroup/cpu,cpuacct");
  EXPECT_EQ(found[1].controllers, (std::vector<std::string>{"cpu", "cpuacct"}));
  EXPECT_EQ(found[3].version, CgroupVersion::kV2);
  EXPECT_EQ(found[3].own_directory, "/sys/fs/cgroup/unified");
}

TEST(CgroupTree, AContainerSeesItsPartOfTheTreeAsTheMountPoint) {
  const char* mounts = "41 31 0:38 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n";
  EXPECT_EQ(ParseCgroups(mounts, "0::/docker/abc\n").at(0).own_directory, "/sys/fs/cgroup");
  EXPECT_EQ(ParseCgroups(mounts, "0::/docker/abc/x\n").at(0).own_directory, "/sys/fs/cgroup/x");
  EXPECT_TRUE(ParseCgroups(mounts, "0::/docker/abcd\n").empty());
}

TEST(CgroupTree, DamagedOrEmptyTextsAreNoHierarchies) {
  EXPECT_TRUE(ParseCgroups("", "").empty());
  EXPECT_TRUE(ParseCgroups("1 2 3 cgroup\n- - -\n", "nonsense\n0:\n").empty());
}

}  // namespace
}  // namespace polybox::sys
