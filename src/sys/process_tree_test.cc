#include "sys/process_tree.h"

#include <algorithm>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/testing/temp_dir.h"

namespace polybox::sys {
namespace {

using std::chrono::milliseconds;

struct Written {
  int pid = 1;
  int parent = 0;
  std::string children = {};
  int threads = 1;
  int mapped = 1000000;
};

std::string Stat(const Written& process, const std::string& name = "sh") {
  return fmt::format(
      "{} ({}) S {} 7 7 0 -1 4194304 100 200 0 0 3 4 50 60 20 0 {} 0 98765 {} {} "
      "18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
      process.pid, name, process.parent, process.threads, process.mapped,
      process.mapped > 0 ? 25 : 0);
}

/// A directory with the structure of /proc.
class ProcessTreeTest : public ::testing::Test {
 protected:
  void Write(const Written& process) const {
    const std::string folder = std::to_string(process.pid);
    temp_.Write(folder + "/stat", Stat(process));
    if (!has_children_) return;
    temp_.Write(fmt::format("{}/task/{}/children", folder, process.pid), process.children);
    for (int i = 1; i < process.threads; ++i) {
      temp_.Write(fmt::format("{}/task/{}/children", folder, process.pid + 1000 * i), "");
    }
  }
  std::vector<pid_t> Pids(pid_t root, std::int64_t most = 100) const {
    std::vector<pid_t> pids;
    for (const ProcessStat& stat : tree_.Read(root, most)) pids.push_back(stat.pid);
    std::ranges::sort(pids);
    return pids;
  }

  polybox::testing::TempDir temp_;
  ProcessTree tree_{temp_.path()};
  bool has_children_ = true;
};

TEST(ProcessStat, HasTheFieldsOfTheKernelsFile) {
  const std::optional<ProcessStat> stat = ParseProcessStat(Stat({42, 7, "", 3}));
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->pid, 42);
  EXPECT_EQ(stat->parent, 7);
  EXPECT_EQ(stat->threads, 3);
  const auto tick = milliseconds(1000 / ::sysconf(_SC_CLK_TCK));
  EXPECT_EQ(stat->own, 7 * tick);
  EXPECT_EQ(stat->reaped, 110 * tick);
  EXPECT_EQ(stat->start, 98765U);
  EXPECT_EQ(stat->mapped.count(), 1000000U);
  EXPECT_EQ(stat->resident.count(), 25U * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)));
}

TEST(ProcessStat, ANameCannotForgeAField) {
  const std::optional<ProcessStat> stat = ParseProcessStat(Stat({42, 7, "", 3}, "a) R 1 (b) S 2"));
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->parent, 7);
}

TEST(ProcessStat, TextThatIsNoProcessStatIsRefused) {
  for (const char* text : {"", "12", "12 (sh", "12 (sh) S 1", "x (sh) S 1 2 3", ") ("}) {
    EXPECT_FALSE(ParseProcessStat(text)) << text;
  }
}

TEST(Kibibytes, AreSummedByTheirKeys) {
  const std::string text = "Name:\tx\nRssAnon:\t     100 kB\nRssFile:\t 7 kB\nRssShmem:\t5 kB\n";
  EXPECT_EQ(SumKibibytes(text, {"RssAnon", "RssShmem"}), Bytes::KiB(105));
  EXPECT_EQ(SumKibibytes(text, {"RssAnon", "Pss_Anon"}), std::nullopt);
}

TEST_F(ProcessTreeTest, HasAllDescendantsAndNobodyElse) {
  Write({10, 1, "11 12 "});
  Write({11, 10, "13 "});
  Write({12, 10});
  Write({13, 11});
  Write({14, 1});
  EXPECT_EQ(Pids(10), (std::vector<pid_t>{10, 11, 12, 13}));
  EXPECT_EQ(Pids(99), std::vector<pid_t>());
}

TEST_F(ProcessTreeTest, HasTheChildrenOfEveryThread) {
  Write({10, 1, "", 2});
  temp_.Write("10/task/1010/children", "11 ");
  Write({11, 10});
  EXPECT_EQ(Pids(10), (std::vector<pid_t>{10, 11}));
}

TEST_F(ProcessTreeTest, NeedsNoFileOfChildren) {
  has_children_ = false;
  Write({10, 1});
  Write({11, 10});
  Write({13, 11});
  Write({14, 1});
  EXPECT_EQ(Pids(10), (std::vector<pid_t>{10, 11, 13}));
}

TEST_F(ProcessTreeTest, ReadsNoFurtherThanItMust) {
  Write({10, 1, "11 12 13 "});
  for (const int pid : {11, 12, 13}) Write({pid, 10, "", 5});
  EXPECT_EQ(tree_.Read(10, 5).size(), 2U);
}

TEST_F(ProcessTreeTest, SharedPagesCountOnceWhereTheKernelTells) {
  temp_.Write("10/status", "Name:\tx\nRssAnon:\t100 kB\nRssFile:\t900 kB\nRssShmem:\t20 kB\n");
  const ProcessStat process = {.pid = 10, .threads = 1};
  EXPECT_EQ(tree_.PrivateMemory(process), Bytes::KiB(120));
  EXPECT_EQ(tree_.ProportionalMemory(process), Bytes::KiB(120));
  temp_.Write("10/smaps_rollup", "1-2 r\nPss:\t99 kB\nPss_Anon:\t30 kB\nPss_Shmem:\t4 kB\n");
  EXPECT_EQ(tree_.ProportionalMemory(process), Bytes::KiB(34));
}

TEST_F(ProcessTreeTest, MemoryIsThatOfAnotherThreadWhenTheFirstHasEnded) {
  Write({.pid = 10, .threads = 3, .mapped = 0});
  temp_.Write("10/status", "Name:\tx\nThreads:\t3\n");
  temp_.Write("10/task/10/stat", Stat({.pid = 10, .mapped = 0}));
  temp_.Write("10/task/1010/stat", Stat({.pid = 1010, .mapped = 0}));
  temp_.Write("10/task/2010/stat", Stat({.pid = 2010}));
  temp_.Write("10/task/2010/status", "Name:\tx\nRssAnon:\t100 kB\nRssShmem:\t20 kB\n");
  temp_.Write("10/task/2010/smaps_rollup", "x\nPss_Anon:\t30 kB\nPss_Shmem:\t4 kB\n");
  const std::vector<ProcessStat> all = tree_.Read(10, 100);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].resident.count(), 25U * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)));
  EXPECT_EQ(tree_.PrivateMemory(all[0]), Bytes::KiB(120));
  EXPECT_EQ(tree_.ProportionalMemory(all[0]), Bytes::KiB(34));
}

TEST(ProcessTree, ReadsThisProcess) {
  const std::jthread other([] {});
  const std::vector<ProcessStat> all = ProcessTree().Read(::getpid(), 1'000'000);
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(all[0].pid, ::getpid());
  EXPECT_EQ(all[0].parent, ::getppid());
  EXPECT_GT(ProcessTree().PrivateMemory(all[0]), Bytes());
  EXPECT_GT(ProcessTree().ProportionalMemory(all[0]), Bytes());
}

}  // namespace
}  // namespace polybox::sys
