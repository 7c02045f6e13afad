#include "jail/tree_watch.h"

#include <csignal>
#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/testing/temp_dir.h"

namespace polybox::jail {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr pid_t kInit = 10;
constexpr pid_t kGuest = 11;

struct Used {
  int children_of = 0;
  std::string children = {};
  /// In milliseconds.
  int own = 0;
  int reaped = 0;
  int threads = 1;
  int start = 1;
  /// In MiB: all resident memory; without files; and with each shared page counted in part.
  int resident = 1;
  int without_files = 1;
  int proportional = 1;
  /// Whether the last of these takes more than 2 ms to read.
  bool slow = false;
};

/// Processes that share almost all of their memory, and are slow to measure.
const Used kShared = {.children_of = kInit,
                      .resident = 1000,
                      .without_files = 1000,
                      .proportional = 200,
                      .slow = true};

/// A directory like /proc with a cell's init and its guest.
class TreeWatchTest : public ::testing::Test {
 protected:
  TreeWatchTest() {
    Write(kInit, {.children_of = 1, .children = "11 ", .resident = 500});
    Write(kGuest, {.children_of = kInit});
  }
  void Write(pid_t pid, const Used& used) const {
    const long ticks = ::sysconf(_SC_CLK_TCK);
    const long pages = (1L << 20) / ::sysconf(_SC_PAGESIZE);
    temp_.Write(fmt::format("{}/stat", pid),
                fmt::format("{} (x) S {} 7 7 0 -1 0 0 0 0 0 {} 0 {} 0 20 0 {} 0 {} 1 {} 0\n", pid,
                            used.children_of, used.own * ticks / 1000, used.reaped * ticks / 1000,
                            used.threads, used.start, used.resident * pages));
    temp_.Write(fmt::format("{}/task/{}/children", pid, pid), used.children);
    temp_.Write(
        fmt::format("{}/status", pid),
        fmt::format("Name:\tx\nRssAnon:\t{} kB\nRssShmem:\t0 kB\n", used.without_files * 1024));
    temp_.Write(fmt::format("{}/smaps_rollup", pid),
                fmt::format("x\nPss_Anon:\t{} kB\nPss_Shmem:\t0 kB\n", used.proportional * 1024));
    if (!used.slow) return;
    std::filesystem::resize_file(fmt::format("{}/{}/smaps_rollup", temp_.path(), pid), 64UL << 20);
  }
  void Remove(pid_t pid) const {
    std::filesystem::remove_all(fmt::format("{}/{}", temp_.path(), pid));
  }
  TreeWatch Watch(const TreeLimits& limits = {4, Bytes::MiB(256), seconds(1)}) const {
    return TreeWatch({.root = kInit, .own = {kInit}}, limits, sys::ProcessTree(temp_.path()));
  }

  polybox::testing::TempDir temp_;
};

TEST_F(TreeWatchTest, ARunWithinItsLimitsGoesOn) {
  TreeWatch watch = Watch();
  EXPECT_EQ(watch.Look(), std::nullopt);
  EXPECT_EQ(watch.use().processes, 1);
  EXPECT_EQ(watch.use().tasks, 1);
  EXPECT_EQ(watch.use().cpu_time, Duration::zero());
  EXPECT_GE(watch.Pause(), milliseconds(20));
}

TEST_F(TreeWatchTest, ThreadsOfAllProcessesCountButThoseOfPolyboxDoNot) {
  TreeWatch watch = Watch();
  Write(kGuest, {.children_of = kInit, .children = "12 ", .threads = 2});
  Write(12, {.children_of = kGuest, .threads = 2});
  EXPECT_EQ(watch.Look(), std::nullopt);
  Write(12, {.children_of = kGuest, .threads = 3});
  EXPECT_EQ(watch.Look(), End::kProcessLimit);
}

TEST_F(TreeWatchTest, MemoryOfAllProcessesCounts) {
  TreeWatch watch = Watch();
  const Used large = {
      .children_of = kInit, .resident = 130, .without_files = 130, .proportional = 130};
  Used parent = large;
  parent.children = "12 ";
  Write(kGuest, parent);
  Write(12, large);
  EXPECT_EQ(watch.Look(), End::kOutOfMemory);
  Outcome outcome;
  outcome.end = End::kOutOfMemory;
  watch.Describe(outcome);
  EXPECT_EQ(outcome.signal, SIGKILL);
  EXPECT_EQ(outcome.oom_kills, 2);
  EXPECT_EQ(outcome.memory_peak, Bytes::MiB(260));
}

TEST_F(TreeWatchTest, FilesOfADiskAndPagesThatAreSharedDoNotCountTwice) {
  TreeWatch watch = Watch();
  Used used = {.children_of = kInit, .resident = 1000, .without_files = 200};
  Write(kGuest, used);
  EXPECT_EQ(watch.Look(), std::nullopt);
  used.without_files = 1000;
  used.proportional = 200;
  Write(kGuest, used);
  EXPECT_EQ(watch.Look(), std::nullopt);
  EXPECT_EQ(watch.use().memory, Bytes::MiB(200));
}

TEST_F(TreeWatchTest, NoGuestMakesThePauseLongerThanAFifthOfASecond) {
  TreeWatch watch = Watch();
  Write(kGuest, kShared);
  EXPECT_EQ(watch.Look(), std::nullopt);
  EXPECT_LE(watch.Pause(), milliseconds(200));
}

TEST_F(TreeWatchTest, GrowthAfterTheLastExactLookIsMeasuredAtOnce) {
  TreeWatch watch = Watch();
  const TreeWatch::Clock::time_point begin{};
  Used used = kShared;
  for (const int all : {1000, 500, 700}) {
    Write(kGuest, used);
    EXPECT_EQ(watch.Look(begin), std::nullopt) << all;
    used.without_files = all;
  }
  used.proportional = 300;
  Write(kGuest, used);
  EXPECT_EQ(watch.Look(begin + milliseconds(20)), End::kOutOfMemory);
}

TEST_F(TreeWatchTest, SharedPagesThatBecomePrivateAreFoundAFifthOfASecondLater) {
  TreeWatch watch = Watch();
  const TreeWatch::Clock::time_point begin{};
  Used used = kShared;
  Write(kGuest, used);
  EXPECT_EQ(watch.Look(begin), std::nullopt);
  used.proportional = 300;
  Write(kGuest, used);
  EXPECT_EQ(watch.Look(begin + milliseconds(199)), std::nullopt) << "it costs too much";
  EXPECT_EQ(watch.use().memory, Bytes::MiB(200));
  EXPECT_EQ(watch.Look(begin + milliseconds(200)), End::kOutOfMemory);
}

TEST_F(TreeWatchTest, ExactLooksCountAsProcessorTimeOfTheRun) {
  TreeWatch watch = Watch();
  Write(kGuest, kShared);
  EXPECT_EQ(watch.Look(), std::nullopt);
  EXPECT_EQ(watch.Look(), std::nullopt);
  EXPECT_GE(watch.use().cpu_time, milliseconds(2));
}

TEST_F(TreeWatchTest, UsageFromBeforeTheRunDoesNotCount) {
  Write(kInit, {.children_of = 1, .children = "11 ", .reaped = 5000});
  Write(kGuest, {.children_of = kInit, .own = 700});
  TreeWatch watch = Watch();
  Write(kGuest, {.children_of = kInit, .own = 1600});
  EXPECT_EQ(watch.Look(), std::nullopt);
  EXPECT_EQ(watch.use().cpu_time, milliseconds(900));
  Write(kGuest, {.children_of = kInit, .own = 1700});
  EXPECT_EQ(watch.Look(), End::kCpuLimit);
}

TEST_F(TreeWatchTest, ProcessorTimeOfPolyboxItselfDoesNotCount) {
  TreeWatch watch = Watch();
  Write(kInit, {.children_of = 1, .children = "11 ", .own = 9000});
  EXPECT_EQ(watch.Look(), std::nullopt);
}

TEST_F(TreeWatchTest, AProcessThatWasReapedCountsOnce) {
  TreeWatch watch = Watch();
  Write(kGuest, {.children_of = kInit, .children = "12 "});
  Write(12, {.children_of = kGuest, .own = 600});
  EXPECT_EQ(watch.Look(), std::nullopt);
  Remove(12);
  Write(kGuest, {.children_of = kInit, .reaped = 700});
  EXPECT_EQ(watch.Look(), std::nullopt);
  EXPECT_EQ(watch.use().cpu_time, milliseconds(700));
}

TEST_F(TreeWatchTest, AProcessThatIsReapedWhileTheWatchLooksCountsOnce) {
  TreeWatch watch = Watch();
  Write(kGuest, {.children_of = kInit, .children = "12 "});
  Write(12, {.children_of = kGuest, .own = 600});
  EXPECT_EQ(watch.Look(), std::nullopt);
  // The parent was read before it reaped the child, and the child's file afterwards.
  Remove(12);
  EXPECT_EQ(watch.Look(), std::nullopt);
  EXPECT_EQ(watch.use().cpu_time, milliseconds(600));
  Write(kGuest, {.children_of = kInit, .reaped = 600});
  EXPECT_EQ(watch.Look(), std::nullopt);
  EXPECT_EQ(watch.use().cpu_time, milliseconds(600));
}

TEST_F(TreeWatchTest, AProcessThatIsInNoListOfChildrenForAMomentCountsOnce) {
  TreeWatch watch = Watch();
  Write(12, {.children_of = kGuest, .own = 600});
  for (const char* children : {"12 ", "", "12 "}) {
    Write(kGuest, {.children_of = kInit, .children = children});
    EXPECT_EQ(watch.Look(), std::nullopt);
    EXPECT_EQ(watch.use().cpu_time, milliseconds(600));
    EXPECT_EQ(watch.use().tasks, 2);
  }
}

TEST_F(TreeWatchTest, AProcessThatNobodyReapedCountsWhatItHadUsed) {
  TreeWatch watch = Watch();
  for (const int number : {12, 13}) {
    Write(kGuest, {.children_of = kInit, .children = fmt::format("{} ", number)});
    Write(number, {.children_of = kGuest, .own = 400});
    EXPECT_EQ(watch.Look(), std::nullopt);
    Remove(number);
    Write(kGuest, {.children_of = kInit});
    EXPECT_EQ(watch.Look(), std::nullopt);
  }
  EXPECT_EQ(watch.use().cpu_time, milliseconds(800));
}

TEST_F(TreeWatchTest, ANumberThatIsUsedAgainIsAnotherProcess) {
  TreeWatch watch = Watch();
  Write(kGuest, {.children_of = kInit, .children = "12 "});
  Write(12, {.children_of = kGuest, .own = 600});
  EXPECT_EQ(watch.Look(), std::nullopt);
  Write(12, {.children_of = kGuest, .own = 500, .start = 2});
  EXPECT_EQ(watch.Look(), End::kCpuLimit);
}

}  // namespace
}  // namespace polybox::jail
