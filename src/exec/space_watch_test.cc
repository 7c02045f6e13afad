#include "exec/space_watch.h"

#include <atomic>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <future>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/files.h"
#include "base/testing/await.h"
#include "base/testing/temp_dir.h"

namespace polybox::exec {
namespace {

using std::chrono::seconds;

class SpaceWatchTest : public ::testing::Test {
 protected:
  SpaceUse Use(std::int64_t most = 1000) const {
    return MeasureSpace(directory_.get(), most).value();
  }
  void Fill(const std::string& name, Bytes size) const {
    temp_.Write(name, std::string(size.count(), 'x'));
    // fsync() makes the file system decide how many blocks the file uses; some decide no earlier.
    const UniqueFd file(::open((temp_.path() + "/" + name).c_str(), O_RDONLY | O_CLOEXEC));
    ::fsync(file.get());
  }

  polybox::testing::TempDir temp_;
  UniqueFd directory_ = OpenFile(temp_.path(), O_PATH | O_DIRECTORY).value();
};

TEST_F(SpaceWatchTest, MeasuresBlocksAndNames) {
  EXPECT_EQ(Use().files, 0);
  Fill("a/b/file", Bytes::MiB(1));
  temp_.Write("a/empty", "");
  std::filesystem::create_symlink("/", temp_.path() + "/link");
  EXPECT_EQ(Use().files, 5);
  EXPECT_GE(Use().bytes, Bytes::MiB(1));
  EXPECT_LT(Use().bytes, Bytes::MiB(2));
  EXPECT_EQ(Use().uncounted, 0);
}

TEST_F(SpaceWatchTest, AFileWithTwoNamesIsThereOnceAndAHoleTakesNothing) {
  Fill("one", Bytes::MiB(1));
  std::filesystem::create_hard_link(temp_.path() + "/one", temp_.path() + "/two");
  std::filesystem::resize_file(temp_.Write("hole", ""), 1U << 30U);
  EXPECT_EQ(Use().files, 2);
  EXPECT_LT(Use().bytes, Bytes::MiB(2));
}

TEST_F(SpaceWatchTest, StopsAtTheFirstTooMany) {
  for (int i = 0; i < 50; ++i) temp_.Write(std::to_string(i), "");
  EXPECT_EQ(Use(10).files, 11);
}

TEST_F(SpaceWatchTest, SaysWhatItCannotCount) {
  std::string deep;
  for (int i = 0; i < 200; ++i) deep += "d/";
  std::filesystem::create_directories(temp_.path() + "/" + deep);
  EXPECT_EQ(Use().uncounted, 1);
}

TEST_F(SpaceWatchTest, PromisesNoRoomTwice) {
  SpaceWatch watch(directory_.get(), {Bytes::MiB(4), 10});
  {
    const auto first = watch.Reserve({Bytes::MiB(3), 1});
    ASSERT_TRUE(first.ok());
    const auto second = watch.Reserve({Bytes::MiB(3), 1});
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.error().system_errno(), ENOSPC);
    EXPECT_EQ(second.error().message(),
              "the base directory may hold 4MiB in 10 files: No space left on device");
  }
  EXPECT_TRUE(watch.Reserve({Bytes::MiB(3), 1}).ok());
  EXPECT_FALSE(watch.Reserve({Bytes(0), 11}).ok());
  Fill("file", Bytes::MiB(2));
  EXPECT_FALSE(watch.Reserve({Bytes::MiB(3), 1}).ok());
}

TEST_F(SpaceWatchTest, TellsOfTooMuchWhileItIsWritten) {
  SpaceWatch watch(directory_.get(), {Bytes::MiB(4), 10});
  std::promise<std::string> told;
  std::atomic<bool> once = false;
  const auto guard = watch.Watch([&](const std::string& reason) {
    if (!once.exchange(true)) told.set_value(reason);
  });
  ASSERT_TRUE(guard.ok());
  EXPECT_EQ((*guard)->room(), Bytes::MiB(4));
  std::future<std::string> reason = told.get_future();
  Fill("small", Bytes::MiB(1));
  EXPECT_EQ(reason.wait_for(std::chrono::milliseconds(1500)), std::future_status::timeout);
  Fill("large", Bytes::MiB(5));
  ASSERT_EQ(reason.wait_for(seconds(30)), std::future_status::ready);
  EXPECT_EQ(reason.get(), "the base directory may hold 4MiB in 10 files");
}

std::chrono::nanoseconds TimeOf(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

/// Returns the processor time of all threads of this process except the calling one.
std::chrono::nanoseconds TimeOfOthers() {
  return TimeOf(CLOCK_PROCESS_CPUTIME_ID) - TimeOf(CLOCK_THREAD_CPUTIME_ID);
}

TEST_F(SpaceWatchTest, TakesLittleOfAProcessorWhateverIsWritten) {
  constexpr int kFiles = 3000;
  for (int i = 0; i < kFiles; ++i) {
    const std::string path = fmt::format("{}/{}", temp_.path(), i);
    ASSERT_TRUE(OpenFile(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600).ok());
  }
  SpaceWatch watch(directory_.get(), {Bytes::MiB(4096), 2 * kFiles});
  const auto guard = watch.Watch([](const std::string&) {});
  ASSERT_TRUE(guard.ok());
  const auto used_before = TimeOfOthers();
  const auto begin = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - begin < seconds(2)) {
    // Each write changes the figures of the file system, so that the watch has a reason to measure.
    temp_.Write("file", std::string(1 << 20, 'x'));
    std::filesystem::remove(temp_.path() + "/file");
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_LE(TimeOfOthers() - used_before, (std::chrono::steady_clock::now() - begin) / 20);
}

TEST_F(SpaceWatchTest, TellsOfTooManyFiles) {
  SpaceWatch watch(directory_.get(), {Bytes::MiB(4), 10});
  std::atomic<bool> told = false;
  const auto guard = watch.Watch([&](const std::string&) { told = true; });
  for (int i = 0; i < 20; ++i) temp_.Write(std::to_string(i), "");
  EXPECT_TRUE(testing::Await([&] { return told.load(); }));
}

TEST_F(SpaceWatchTest, AGuestInATooFullDirectoryMayTidyUpButNotAdd) {
  Fill("old", Bytes::MiB(6));
  Fill("older", Bytes::MiB(1));
  SpaceWatch watch(directory_.get(), {Bytes::MiB(4), 10});
  std::atomic<bool> told = false;
  const auto guard = watch.Watch([&](const std::string&) { told = true; });
  ASSERT_TRUE(guard.ok());
  EXPECT_EQ((*guard)->room(), Bytes(0));
  std::filesystem::remove(temp_.path() + "/older");
  // sleeps: the watch measures every second, and must not tell of what it measures now.
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  EXPECT_FALSE(told);
  Fill("new", Bytes::MiB(3));
  EXPECT_TRUE(testing::Await([&] { return told.load(); }));
}

}  // namespace
}  // namespace polybox::exec
