#include "base/files.h"

#include <fcntl.h>
#include <filesystem>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/testing/temp_dir.h"

namespace polybox {
namespace {

TEST(Files, ReplacedContentIsReadBack) {
  const testing::TempDir dir;
  const std::string path = dir.path() + "/file";
  ASSERT_TRUE(ReplaceFile(path, "one").ok());
  ASSERT_TRUE(ReplaceFile(path, std::string(200000, 'x')).ok());
  EXPECT_EQ(ReadFile(path)->size(), 200000U);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(dir.path()), {}), 1)
      << "no temporary file is left";
}

TEST(Files, FailuresNameThePathAndTheReason) {
  const testing::TempDir dir;
  const Result<std::string> missing = ReadFile(dir.path() + "/nothing");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().message(),
            "open " + dir.path() + "/nothing: No such file or directory");
  EXPECT_EQ(missing.error().system_errno(), ENOENT);
  EXPECT_FALSE(ReplaceFile(dir.path() + "/no/such/dir", "x").ok());
}

TEST(Files, AFileOverTheLimitIsRefused) {
  const testing::TempDir dir;
  const std::string path = dir.Write("big", std::string(2049, 'x'));
  EXPECT_FALSE(ReadFile(path, Bytes::KiB(2)).ok());
  EXPECT_TRUE(ReadFile(path, Bytes(2049)).ok());
}

TEST(Files, ShortReadsAndWritesAreContinued) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  // Larger than the capacity of a pipe, so that both sides transfer the data in parts.
  const std::string data(1 << 20, 'y');
  std::thread feeder([&] {
    EXPECT_TRUE(WriteAll(writer.get(), data).ok());
    writer.reset();
  });
  const Result<std::string> read = ReadAll(reader.get(), Bytes::MiB(2));
  feeder.join();
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(*read, data);
}

}  // namespace
}  // namespace polybox
