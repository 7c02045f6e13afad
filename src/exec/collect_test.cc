#include "exec/collect.h"

#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

#include "base/testing/temp_dir.h"

namespace polybox::exec {
namespace {

Collected Collect(const testing::TempDir& dir, const CollectLimits& limits = {}) {
  const UniqueFd fd(::open(dir.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  auto collected = CollectFiles(fd.get(), limits);
  EXPECT_TRUE(collected.ok());
  return std::move(collected).value();
}

std::vector<std::string> Paths(const Collected& collected) {
  std::vector<std::string> paths;
  for (const Artifact& file : collected.files) paths.push_back(file.path);
  return paths;
}

using Names = std::vector<std::string>;

TEST(Collect, FilesOfAllDirectoriesComeInOrderWithTheirContent) {
  const testing::TempDir dir;
  dir.Write("b.txt", "two");
  dir.Write("a/inner/x.bin", std::string("\0\xff\n", 3));
  dir.Write(".hidden", "");
  std::filesystem::create_directory(dir.path() + "/empty");
  const Collected collected = Collect(dir);
  EXPECT_EQ(Paths(collected), (Names{".hidden", "a/inner/x.bin", "b.txt"}));
  EXPECT_EQ(collected.files[1].content, std::string("\0\xff\n", 3));
  EXPECT_EQ(collected.left_out, Names{});
}

TEST(Collect, OnlyPlainFilesAreEverOpened) {
  const testing::TempDir dir;
  const testing::TempDir outside;
  outside.Write("secret", "secret");
  dir.Write("plain", "x");
  std::filesystem::create_symlink(outside.path() + "/secret", dir.path() + "/absolute");
  std::filesystem::create_symlink("plain", dir.path() + "/relative");
  std::filesystem::create_directory_symlink(outside.path(), dir.path() + "/way-out");
  ASSERT_EQ(::mkfifo((dir.path() + "/pipe").c_str(), 0644), 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  (dir.path() + "/socket").copy(address.sun_path, sizeof address.sun_path - 1);
  const UniqueFd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  Names left_out = {"absolute (a link)", "pipe (a pipe)", "relative (a link)", "socket (a socket)",
                    "way-out (a link)"};
  if (::mknod((dir.path() + "/device").c_str(), S_IFCHR | 0644, makedev(1, 5)) == 0) {
    left_out.insert(left_out.begin() + 1, "device (a device)");
  }
  const Collected collected = Collect(dir);
  EXPECT_EQ(Paths(collected), Names{"plain"});
  EXPECT_EQ(collected.left_out, left_out);
}

TEST(Collect, FilesPastTheLimitsAreLeftOutAndNamed) {
  const testing::TempDir dir;
  dir.Write("a", std::string(10, 'a'));
  dir.Write("b", std::string(11, 'b'));
  dir.Write("c", std::string(10, 'c'));
  dir.Write("d", "d");
  dir.Write("e", "e");
  CollectLimits limits;
  limits.file = Bytes(10);
  limits.total = Bytes(12);
  limits.files = 2;
  const Collected collected = Collect(dir, limits);
  EXPECT_EQ(Paths(collected), (Names{"a", "d"}));
  EXPECT_EQ(collected.left_out,
            (Names{"b (larger than 10B)", "c (more than 12B in all)", "e (too many files)"}));
}

TEST(Collect, ASparseFileOfManyGigabytesCostsNothing) {
  const testing::TempDir dir;
  std::filesystem::resize_file(dir.Write("huge", ""), std::uintmax_t{1} << 40U);
  EXPECT_EQ(Collect(dir).left_out, Names{"huge (larger than 16MiB)"});
}

TEST(Collect, DepthAndNumberOfEntriesAreBounded) {
  const testing::TempDir dir;
  dir.Write("1/2/3/deep", "x");
  CollectLimits shallow;
  shallow.depth = 2;
  const Collected cut = Collect(dir, shallow);
  EXPECT_EQ(Paths(cut), Names{});
  EXPECT_EQ(cut.left_out, Names{"1/2/3 (too deep)"});

  const testing::TempDir many;
  for (int i = 0; i < 150; ++i) {
    std::filesystem::create_symlink("x", many.path() + "/" + std::to_string(i));
  }
  const Collected named = Collect(many);
  EXPECT_EQ(named.left_out.size(), 101U);
  EXPECT_EQ(named.left_out.back(), "and 50 more");
  CollectLimits few;
  few.entries = 3;
  const Collected listed = Collect(many, few);
  EXPECT_EQ(listed.left_out.size(), 4U);
  EXPECT_EQ(listed.left_out.front(), ". (too many files)");
}

TEST(Collect, ACancelledRequestIsNotCollected) {
  const testing::TempDir dir;
  dir.Write("a", "x");
  const UniqueFd fd(::open(dir.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  std::stop_source stop;
  EXPECT_TRUE(CollectFiles(fd.get(), {}, stop.get_token()).ok());
  stop.request_stop();
  EXPECT_FALSE(CollectFiles(fd.get(), {}, stop.get_token()).ok());
}

}  // namespace
}  // namespace polybox::exec
