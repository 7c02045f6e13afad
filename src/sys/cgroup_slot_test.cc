// Tests what is written and read for one slot, with plain files in place of the kernel's files.
#include "sys/cgroup_slot.h"

#include <fcntl.h>
#include <filesystem>
#include <map>
#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#include "base/files.h"
#include "base/testing/temp_dir.h"

namespace polybox::sys {
namespace {

using testing::TempDir;
using Strings = std::vector<std::string>;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

const std::map<std::string, std::string> kV1Files = {
    {"tasks", ""},
    {"memory.limit_in_bytes", ""},
    {"memory.memsw.limit_in_bytes", ""},
    {"memory.usage_in_bytes", "0\n"},
    {"memory.max_usage_in_bytes", "0\n"},
    {"memory.failcnt", "7\n"},
    {"memory.force_empty", ""},
    {"memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n"},
    {"cgroup.event_control", ""},
    {"cpu.cfs_quota_us", "-1\n"},
    {"cpu.cfs_period_us", "5\n"},
    {"cpuacct.usage", "1\n"},
    {"cpuacct.usage_user", "0\n"},
    {"cpuacct.usage_sys", "0\n"},
    {"pids.max", "max\n"},
    {"pids.peak", "4\n"},
};

const std::map<std::string, std::string> kV2Files = {
    {"memory.max", "max\n"},
    {"memory.swap.max", "max\n"},
    {"memory.oom.group", "0\n"},
    {"memory.current", "0\n"},
    {"memory.peak", "0\n"},
    {"memory.reclaim", ""},
    {"memory.events", "low 0\nhigh 0\nmax 9\noom 2\noom_kill 2\noom_group_kill 1\n"},
    {"cpu.max", "max 100000\n"},
    {"cpu.stat", "usage_usec 150\nuser_usec 100\nsystem_usec 50\nnice_usec 0\n"},
    {"pids.max", "max\n"},
    {"pids.peak", "4\n"},
    {"cgroup.kill", ""},
};

/// A slot directory of plain files that records the order in which they are written.
class FakeSlot {
 public:
  explicit FakeSlot(std::map<std::string, std::string> files, const Strings& without = {}) {
    for (const std::string& name : without) files.erase(name);
    std::filesystem::create_directory(dir_.path() + "/slot");
    for (const auto& [name, content] : files) dir_.Write("slot/" + name, content);
    ::inotify_add_watch(watch_.get(), (dir_.path() + "/slot").c_str(), IN_MODIFY);
  }

  CgroupDirectory Directory() const {
    const UniqueFd parent = OpenDirectory(AT_FDCWD, dir_.path()).value();
    return CgroupDirectory::Make(parent.get(), dir_.path(), "slot",
                                 CgroupDirectory::OnExisting::kAccept)
        .value();
  }
  Result<std::unique_ptr<SlotControl>> OpenV1() const {
    std::vector<V1Directory> directories;
    directories.push_back({{"memory", "cpu", "cpuacct", "pids"}, Directory()});
    return OpenV1Slot(std::move(directories), std::nullopt);
  }
  Result<std::unique_ptr<SlotControl>> OpenV2() const {
    return OpenV2Slot({Empty("around"), Empty("starter"), Directory()});
  }

  void Put(const std::string& name, const std::string& content) {
    dir_.Write("slot/" + name, content);
    Written();
  }
  /// Writes a file into one of the directories that OpenV2() takes.
  void PutIn(const std::string& folder, const std::string& name, const std::string& content) {
    std::filesystem::create_directories(dir_.path() + "/" + folder);
    dir_.Write(folder + "/" + name, content);
  }
  std::string Content(const std::string& path) const {
    return ReadFile(dir_.path() + "/" + path).value_or("(missing)");
  }
  uid_t Owner(const std::string& path) const {
    struct stat status{};
    return ::stat((dir_.path() + "/" + path).c_str(), &status) == 0 ? status.st_uid : ~0U;
  }
  /// Returns the first line: unlike a kernel file, a plain file keeps the end of longer old
  /// content.
  std::string Line(const std::string& name) const {
    const std::string text = ReadFile(dir_.path() + "/slot/" + name).value_or("(missing)");
    return text.substr(0, text.find('\n'));
  }
  /// Returns the files written since the last call, in order.
  Strings Written() {
    Strings names;
    alignas(inotify_event) std::array<char, 8192> buffer;
    const ssize_t size = ::read(watch_.get(), buffer.data(), buffer.size());
    for (ssize_t at = 0; at < size;) {
      const auto* event = reinterpret_cast<const inotify_event*>(buffer.data() + at);
      names.emplace_back(event->name);
      at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
    }
    return names;
  }

 private:
  CgroupDirectory Empty(const std::string& name) const {
    const UniqueFd parent = OpenDirectory(AT_FDCWD, dir_.path()).value();
    return CgroupDirectory::Make(parent.get(), dir_.path(), name,
                                 CgroupDirectory::OnExisting::kAccept)
        .value();
  }

  TempDir dir_;
  UniqueFd watch_{::inotify_init1(IN_CLOEXEC | IN_NONBLOCK)};
};

CgroupLimits Limits(std::uint64_t memory_mib, std::uint64_t swap_mib) {
  return {Bytes::MiB(memory_mib), Bytes::MiB(swap_mib), 16, std::chrono::seconds(1)};
}

TEST(CgroupDirectory, IsMadeAnewUnlessSomeoneIsInside) {
  const TempDir dir;
  const UniqueFd parent = OpenDirectory(AT_FDCWD, dir.path()).value();
  auto made = CgroupDirectory::Make(parent.get(), dir.path(), "cgroup");
  ASSERT_TRUE(made.ok()) << made.error().message();
  const UniqueFd old(::fcntl(made->fd(), F_DUPFD_CLOEXEC, 0));
  ASSERT_EQ(made->Renew().value_or(false), true);
  struct stat status{};
  ASSERT_EQ(::fstat(old.get(), &status), 0);
  EXPECT_EQ(status.st_nlink, 0U) << "the old one is gone";
  EXPECT_TRUE(std::filesystem::exists(dir.path() + "/cgroup"));
  std::filesystem::create_directory(dir.path() + "/cgroup/inside");
  EXPECT_EQ(made->Renew().value_or(true), false);
  EXPECT_TRUE(std::filesystem::exists(dir.path() + "/cgroup/inside"));
  std::filesystem::remove(dir.path() + "/cgroup/inside");
}

TEST(V1SlotFiles, MemoryIsNeverAboveMemoryAndSwapOnTheWay) {
  FakeSlot fake(kV1Files);
  const auto slot = fake.OpenV1();
  ASSERT_TRUE(slot.ok()) << slot.error().message();
  const std::string memory = "memory.limit_in_bytes";
  const std::string both = "memory.memsw.limit_in_bytes";
  const struct {
    const char* claim;
    CgroupLimits limits;
    Strings order;
  } kSteps[] = {
      {"from unlimited", Limits(64, 0), {memory, both, "pids.max", "cpu.cfs_quota_us"}},
      {"raising", Limits(128, 0), {both, memory}},
      {"lowering", Limits(32, 0), {memory, both}},
      {"unchanged", Limits(32, 0), {}},
      {"only swap up", Limits(32, 32), {both}},
      {"memory up, swap off", Limits(48, 0), {memory, both}},
      {"memory down, swap up", Limits(16, 64), {both, memory}},
      {"memory up, the sum as it was", Limits(64, 16), {memory}},
  };
  fake.Written();
  for (const auto& step : kSteps) {
    ASSERT_TRUE((*slot)->SetLimits(step.limits).ok()) << step.claim;
    EXPECT_EQ(fake.Written(), step.order) << step.claim;
  }
  EXPECT_EQ(fake.Line(memory), std::to_string(64U << 20U));
  EXPECT_EQ(fake.Line(both), std::to_string(80U << 20U));
  EXPECT_EQ(fake.Line("pids.max"), "16");
  EXPECT_EQ(fake.Line("cpu.cfs_quota_us"), "100000");
  EXPECT_EQ(fake.Line("cpu.cfs_period_us"), "100000");
}

TEST(V1SlotFiles, AMissingKernelFeatureIsACapabilityOrAnAbsentFigure) {
  FakeSlot fake(kV1Files, {"memory.memsw.limit_in_bytes", "cgroup.event_control", "pids.peak",
                           "cpuacct.usage_user"});
  fake.Put("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\n");
  const auto slot = fake.OpenV1();
  ASSERT_TRUE(slot.ok()) << slot.error().message();
  EXPECT_FALSE((*slot)->capabilities().limits_swap);
  EXPECT_FALSE((*slot)->capabilities().oom_event);
  EXPECT_FALSE((*slot)->capabilities().kill_all);
  EXPECT_EQ((*slot)->OomFd(), -1);
  EXPECT_EQ((*slot)->CloneFd(), -1);
  EXPECT_FALSE((*slot)->TakeOomEvent());
  EXPECT_FALSE((*slot)->KillAll().ok());
  EXPECT_TRUE((*slot)->SetLimits(Limits(64, 0)).ok());
  const auto usage = (*slot)->ReadUsage();
  ASSERT_TRUE(usage.ok()) << usage.error().message();
  EXPECT_TRUE(usage->memory_peak);
  EXPECT_FALSE(usage->cpu_user);
  EXPECT_FALSE(usage->cpu_system);
  EXPECT_FALSE(usage->processes_peak);
  EXPECT_FALSE(usage->oom_kills);
}

TEST(V1SlotFiles, AMissingFileThatIsNeededIsNamed) {
  for (const char* name : {"tasks", "memory.limit_in_bytes", "memory.oom_control", "pids.max",
                           "memory.max_usage_in_bytes", "cpu.cfs_quota_us", "cpuacct.usage"}) {
    const FakeSlot fake(kV1Files, {name});
    const auto slot = fake.OpenV1();
    ASSERT_FALSE(slot.ok()) << name;
    EXPECT_NE(slot.error().message().find(fmt::format("/slot/{}: No such file", name)),
              std::string::npos)
        << slot.error().message();
  }
}

TEST(V1SlotFiles, CountersAreResetOrCountedFromWhereTheyWere) {
  FakeSlot fake(kV1Files);
  const auto slot = fake.OpenV1();
  ASSERT_TRUE(slot.ok()) << slot.error().message();
  fake.Written();
  ASSERT_TRUE((*slot)->ResetCounters().ok());
  EXPECT_EQ(fake.Written(),
            (Strings{"memory.max_usage_in_bytes", "memory.failcnt", "cpuacct.usage"}));
  fake.Put("memory.max_usage_in_bytes", "8192\n");
  fake.Put("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 5\n");
  fake.Put("cpuacct.usage", "9000001\n");
  fake.Put("cpuacct.usage_user", "8000000\n");
  fake.Put("cpuacct.usage_sys", "4000000\n");
  auto usage = (*slot)->ReadUsage();
  ASSERT_TRUE(usage.ok()) << usage.error().message();
  EXPECT_EQ(usage->memory_peak, Bytes(8192));
  EXPECT_EQ(usage->oom_kills, 2);
  EXPECT_EQ(usage->cpu_system, nanoseconds(3000000));
  EXPECT_EQ(usage->cpu_user, nanoseconds(6000001));
  EXPECT_FALSE(usage->processes_peak) << "still that of an earlier run";
  fake.Put("pids.peak", "6\n");
  fake.Put("cpuacct.usage_user", "0\n");
  fake.Put("cpuacct.usage_sys", "0\n");
  usage = (*slot)->ReadUsage();
  EXPECT_EQ(usage->processes_peak, 6);
  EXPECT_EQ(usage->cpu_user, nanoseconds(9000001)) << "too short for a sample";
}

TEST(ProcessesAbove, IsUnknownOnlyBelowThatOfALargerRun) {
  EXPECT_EQ(ProcessesAbove(0, 1), 1);
  EXPECT_EQ(ProcessesAbove(1, 1), 1) << "no run has fewer";
  EXPECT_EQ(ProcessesAbove(1, 4), 4);
  EXPECT_EQ(ProcessesAbove(4, 4), std::nullopt);
  EXPECT_EQ(ProcessesAbove(4, 5), 5);
}

TEST(V1SlotFiles, DropsOnlyLeftoversWorthTheTimeAndStartsANewPeriod) {
  FakeSlot fake(kV1Files);
  const auto slot = fake.OpenV1();
  ASSERT_TRUE(slot.ok()) << slot.error().message();
  ASSERT_TRUE((*slot)->SetLimits(Limits(64, 0)).ok());
  fake.Put("memory.usage_in_bytes", std::to_string(1U << 20U) + "\n");
  ASSERT_TRUE((*slot)->DropLeftovers(Inside::kNobody).ok());
  EXPECT_EQ(fake.Written(), Strings{"cpu.cfs_quota_us"});
  fake.Put("memory.usage_in_bytes", std::to_string((1U << 20U) + 4096) + "\n");
  ASSERT_TRUE((*slot)->DropLeftovers(Inside::kNobody).ok());
  EXPECT_EQ(fake.Written(), (Strings{"memory.force_empty", "cpu.cfs_quota_us"}));
}

void ExpectGarbledIsAnError(FakeSlot& fake, SlotControl& slot, const std::string& name,
                            const std::string& content) {
  fake.Put(name, content);
  const auto usage = slot.ReadUsage();
  ASSERT_FALSE(usage.ok()) << name << ": " << content;
  EXPECT_NE(usage.error().message().find("/slot/" + name), std::string::npos)
      << usage.error().message();
}

TEST(V1SlotFiles, ShortOrGarbledContentIsAnErrorThatNamesTheFile) {
  for (const std::string content :
       {"", "\n", "-1\n", "12x\n", "12 13\n", "99999999999999999999\n", "1\n\n"}) {
    for (const char* name : {"memory.max_usage_in_bytes", "cpuacct.usage", "cpuacct.usage_user",
                             "cpuacct.usage_sys", "pids.peak"}) {
      FakeSlot fake(kV1Files);
      const auto slot = fake.OpenV1();
      ASSERT_TRUE(slot.ok()) << slot.error().message();
      ExpectGarbledIsAnError(fake, **slot, name, content);
    }
  }
  for (const std::string content : {"oom_kill \n", "oom_kill x", "oom_kill 1 2\n"}) {
    FakeSlot fake(kV1Files);
    const auto slot = fake.OpenV1();
    ASSERT_TRUE(slot.ok()) << slot.error().message();
    ExpectGarbledIsAnError(fake, **slot, "memory.oom_control", content);
  }
}

TEST(V2SlotFiles, LimitsAreWrittenOnceAndOnlyWhenTheyChange) {
  FakeSlot fake(kV2Files);
  const auto slot = fake.OpenV2();
  ASSERT_TRUE(slot.ok()) << slot.error().message();
  EXPECT_EQ(fake.Line("memory.oom.group"), "1");
  fake.Written();
  ASSERT_TRUE((*slot)->SetLimits(Limits(64, 0)).ok());
  EXPECT_EQ(fake.Written(), (Strings{"memory.max", "memory.swap.max", "pids.max", "cpu.max"}));
  EXPECT_EQ(fake.Line("memory.max"), std::to_string(64U << 20U));
  EXPECT_EQ(fake.Line("memory.swap.max"), "0");
  EXPECT_EQ(fake.Line("cpu.max"), "100000 100000");
  CgroupLimits half = Limits(64, 0);
  half.cpu_per_second = milliseconds(500);
  ASSERT_TRUE((*slot)->SetLimits(half).ok());
  EXPECT_EQ(fake.Written(), Strings{"cpu.max"});
  EXPECT_EQ(fake.Line("cpu.max"), "50000 100000");
  EXPECT_TRUE((*slot)->JoinFds().empty());
  EXPECT_GE((*slot)->CloneFd(), 0);
  ASSERT_TRUE((*slot)->KillAll().ok());
  EXPECT_EQ(fake.Line("cgroup.kill"), "1");
}

TEST(V2SlotFiles, CountersAreCountedFromTheReset) {
  FakeSlot fake(kV2Files);
  const auto slot = fake.OpenV2();
  ASSERT_TRUE(slot.ok()) << slot.error().message();
  fake.Put("memory.peak", "4096\n");
  fake.Put("cpu.stat", "usage_usec 1650\nuser_usec 1100\nsystem_usec 550\n");
  fake.Put("memory.events", "oom 2\noom_kill 3\noom_group_kill 1\n");
  fake.Put("pids.peak", "5\n");
  const auto usage = (*slot)->ReadUsage();
  ASSERT_TRUE(usage.ok()) << usage.error().message();
  EXPECT_EQ(usage->cpu_user, microseconds(1000));
  EXPECT_EQ(usage->cpu_system, microseconds(500));
  EXPECT_EQ(usage->oom_kills, 1);
  EXPECT_EQ(usage->processes_peak, 5);
  EXPECT_EQ(usage->memory_peak, Bytes(4096));
  EXPECT_TRUE((*slot)->TakeOomEvent());
  EXPECT_FALSE((*slot)->TakeOomEvent());
}

TEST(V2SlotFiles, AProcessKilledWithItsGroupIsCountedOnce) {
  const struct {
    const char* events;
    std::int64_t killed;
  } kCases[] = {{"oom_kill 2\noom_group_kill 1\n", 0},
                {"oom_kill 4\noom_group_kill 2\n", 1},
                {"oom_kill 3\noom_group_kill 2\n", 1},
                {"oom_kill 6\noom_group_kill 2\n", 3},
                {"oom_kill 3\n", 1}};
  for (const auto& [events, killed] : kCases) {
    FakeSlot fake(kV2Files);
    const auto slot = fake.OpenV2();
    ASSERT_TRUE(slot.ok()) << slot.error().message();
    fake.Put("memory.events", events);
    EXPECT_EQ((*slot)->ReadUsage()->oom_kills, killed) << events;
  }
}

TEST(V2SlotFiles, TheStarterIsBesideTheGuestsAndMayMoveThemIntoTheSlot) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  FakeSlot fake(kV2Files);
  for (const char* folder : {"around", "starter", "slot"}) fake.PutIn(folder, "cgroup.procs", "");
  const auto slot = fake.OpenV2();
  ASSERT_TRUE(slot.ok()) << slot.error().message();
  EXPECT_GE((*slot)->StarterFd(), 0);
  EXPECT_FALSE((*slot)->Starter().ok()) << "nobody is there";
  fake.PutIn("starter", "cgroup.procs", "4711\n");
  EXPECT_EQ((*slot)->Starter().value_or(0), 4711);
  const Status allowed = (*slot)->AllowStarter(1234);
  ASSERT_TRUE(allowed.ok()) << allowed.error().message();
  EXPECT_EQ(fake.Owner("around/cgroup.procs"), 1234U);
  EXPECT_EQ(fake.Owner("slot/cgroup.procs"), 1234U);
  EXPECT_EQ(fake.Owner("starter/cgroup.procs"), 0U);
  EXPECT_EQ(fake.Owner("slot/memory.max"), 0U) << "the limits are not the starter's to change";
}

TEST(V2SlotFiles, AnOldKernelGivesFewerFiguresAndNoneInvented) {
  FakeSlot fake(kV2Files, {"memory.peak", "pids.peak", "cgroup.kill", "memory.swap.max",
                           "memory.reclaim", "memory.oom.group"});
  fake.Put("memory.high", "max\n");
  fake.Put("cpu.stat", "usage_usec 10\n");
  fake.Put("memory.events", "low 0\n");
  const auto slot = fake.OpenV2();
  ASSERT_TRUE(slot.ok()) << slot.error().message();
  EXPECT_FALSE((*slot)->capabilities().limits_swap);
  EXPECT_FALSE((*slot)->capabilities().kill_all);
  EXPECT_FALSE((*slot)->KillAll().ok());
  const auto usage = (*slot)->ReadUsage();
  ASSERT_TRUE(usage.ok()) << usage.error().message();
  EXPECT_FALSE(usage->memory_peak || usage->cpu_user || usage->cpu_system ||
               usage->processes_peak || usage->oom_kills);
  fake.Put("memory.current", "9000000\n");
  ASSERT_TRUE((*slot)->DropLeftovers(Inside::kNobody).ok());
  EXPECT_EQ(fake.Line("memory.high"), "max");
}

TEST(V2SlotFiles, ReclaimsAsMuchAsThereIs) {
  FakeSlot fake(kV2Files);
  const auto slot = fake.OpenV2();
  ASSERT_TRUE(slot.ok()) << slot.error().message();
  fake.Put("memory.current", "9000000\n");
  ASSERT_TRUE((*slot)->DropLeftovers(Inside::kNobody).ok());
  EXPECT_EQ(fake.Line("memory.reclaim"), "9000000");
}

TEST(V2SlotFiles, ShortOrGarbledContentIsAnErrorThatNamesTheFile) {
  const std::pair<const char*, const char*> kCases[] = {
      {"memory.peak", ""},
      {"memory.peak", "max\n"},
      {"pids.peak", "4 5\n"},
      {"cpu.stat", "user_usec 1x\n"},
      {"cpu.stat", "system_usec \n"},
      {"memory.events", "oom_kill -1\n"},
  };
  for (const auto& [name, content] : kCases) {
    FakeSlot fake(kV2Files);
    const auto slot = fake.OpenV2();
    ASSERT_TRUE(slot.ok()) << slot.error().message();
    ExpectGarbledIsAnError(fake, **slot, name, content);
  }
}

}  // namespace
}  // namespace polybox::sys
