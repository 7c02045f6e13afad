#include "jail/trees.h"

#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

namespace polybox::jail {
namespace {

TEST(Trees, EveryMountBelowATreeBecomesOneOfItsOwn) {
  std::string name = std::filesystem::temp_directory_path() / "trees.XXXXXX";
  ASSERT_NE(::mkdtemp(name.data()), nullptr);
  const std::filesystem::path folder = name;
  std::filesystem::create_directories(folder / "tree/a b/c");
  const UniqueFd file(::open((folder / "tree/file").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0644));
  const std::string mountinfo = fmt::format(R"(22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw
28 27 0:25 / {0}/tree rw - tmpfs the-tree-itself rw
29 27 0:25 / {0}/tree/a\040b/c ro,nosuid shared:5 - tmpfs x ro
30 27 254:1 /some/file {0}/tree/file ro - ext4 /dev/vdb ro
31 27 0:26 / {0}/trees rw - tmpfs another rw
32 27 0:27 / {0}/tree/gone rw - tmpfs out-of-reach rw
cut)",
                                            folder.string());
  const std::vector<Tree> trees = {{folder / "tree", "/shown", false, false},
                                   {"/etc/x", "/etc/x", true, false}};
  const std::vector<Tree> all = WithSubmounts(trees, mountinfo);
  std::filesystem::remove_all(folder);
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[2], (Tree{folder / "tree/a b/c", "/shown/a b/c", false, true}));
  EXPECT_EQ(all[3], (Tree{folder / "tree/file", "/shown/file", true, true}));
}

TEST(Trees, DevicesOfItsOwnWorkAndAreOtherInodes) {
  if (::geteuid() != 0) GTEST_SKIP() << "making devices needs root";
  const auto devices = MakeDevices({"/dev/null", "/dev/zero"});
  ASSERT_TRUE(devices.ok()) << devices.error().message();
  struct stat own{};
  struct stat host{};
  ASSERT_EQ(::fstatat(devices->get(), "zero", &own, 0), 0);
  ASSERT_EQ(::stat("/dev/zero", &host), 0);
  EXPECT_EQ(own.st_rdev, host.st_rdev);
  EXPECT_NE(own.st_dev, host.st_dev);
  EXPECT_EQ(own.st_mode, host.st_mode) << "whatever the umask is";
  const UniqueFd zero(::openat(devices->get(), "zero", O_RDONLY | O_CLOEXEC));
  char byte = 1;
  EXPECT_EQ(::read(zero.get(), &byte, 1), 1);
  EXPECT_EQ(byte, 0);
  EXPECT_NE(::mknodat(devices->get(), "more", S_IFCHR | 0666, own.st_rdev), 0) << "read-only";
}

TEST(Trees, ADeviceThatIsNotThereIsNamed) {
  if (::geteuid() != 0) GTEST_SKIP() << "making devices needs root";
  const auto devices = MakeDevices({"/dev/no-such-device"});
  ASSERT_FALSE(devices.ok());
  EXPECT_EQ(devices.error().message(), "look at /dev/no-such-device: No such file or directory");
}

}  // namespace
}  // namespace polybox::jail
