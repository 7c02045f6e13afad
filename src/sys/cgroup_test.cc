// Tests which cgroups are chosen, the error when there are none, and what a sweep removes. The
// tests use plain directories that look like a cgroup mount.
#include "sys/cgroup.h"

#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include "base/files.h"
#include "base/testing/temp_dir.h"
#include "sys/cgroup_slot.h"

namespace polybox::sys {
namespace {

using testing::TempDir;

CgroupHierarchy V1(const std::string& directory, std::vector<std::string> controllers) {
  return {CgroupVersion::kV1, std::move(controllers), directory};
}

CgroupHierarchy V2(const std::string& directory, std::vector<std::string> controllers) {
  return {CgroupVersion::kV2, std::move(controllers), directory};
}

std::string Message(const Result<CgroupHome>& home) {
  return home.ok() ? "no error" : home.error().message();
}

TEST(CgroupHome, NamesWhatIsMissing) {
  const TempDir dir;
  EXPECT_EQ(Message(CgroupHome::Make({})),
            "no usable cgroups: v1 lacks memory, cpu, cpuacct, pids; v2 lacks memory, cpu, pids");
  EXPECT_EQ(Message(CgroupHome::Make({V1(dir.path(), {"memory"}),
                                      V1(dir.path(), {"cpu", "cpuacct", "cpuset"}),
                                      V2(dir.path(), {"cpu", "pids"})})),
            "no usable cgroups: v1 lacks pids; v2 lacks memory");
}

TEST(CgroupHome, ADirectoryThatCannotBeMadeIsNamed) {
  const std::string gone = TempDir().path();
  EXPECT_EQ(Message(CgroupHome::Make({V1(gone, {"memory", "cpu", "cpuacct", "pids"})})),
            fmt::format("open {}: No such file or directory", gone));
}

TEST(CgroupHome, IsMadeInEachV1HierarchyAndGoesAgain) {
  const TempDir dir;
  const std::string name = CgroupHomeName().value();
  std::vector<CgroupHierarchy> hierarchies;
  for (const char* part : {"memory", "cpu,cpuacct", "pids", "freezer", "blkio", "unified"}) {
    std::filesystem::create_directory(dir.path() + "/" + part);
  }
  hierarchies.push_back(V1(dir.path() + "/memory", {"memory"}));
  hierarchies.push_back(V1(dir.path() + "/cpu,cpuacct", {"cpu", "cpuacct"}));
  hierarchies.push_back(V1(dir.path() + "/pids", {"pids"}));
  hierarchies.push_back(V1(dir.path() + "/freezer", {"freezer"}));
  hierarchies.push_back(V1(dir.path() + "/blkio", {"blkio"}));
  hierarchies.push_back(V2(dir.path() + "/unified", {}));
  {
    const auto home = CgroupHome::Make(hierarchies);
    ASSERT_TRUE(home.ok()) << home.error().message();
    for (const char* part : {"memory", "cpu,cpuacct", "pids", "unified"}) {
      EXPECT_TRUE(std::filesystem::exists(fmt::format("{}/{}/{}", dir.path(), part, name))) << part;
    }
    EXPECT_TRUE(std::filesystem::is_empty(dir.path() + "/blkio"));
  }
  for (const char* part : {"memory", "cpu,cpuacct", "pids", "unified"}) {
    EXPECT_TRUE(std::filesystem::is_empty(dir.path() + "/" + part)) << part;
  }
}

TEST(CgroupHome, ASlotNameIsAPlainName) {
  const TempDir dir;
  const auto home = CgroupHome::Make({V1(dir.path(), {"memory", "cpu", "cpuacct", "pids"})});
  ASSERT_TRUE(home.ok()) << home.error().message();
  for (const char* name : {"", ".", "..", "a/b", "/"}) {
    const auto slot = home->MakeSlot(name);
    ASSERT_FALSE(slot.ok()) << name;
    EXPECT_EQ(slot.error().kind(), ErrorKind::kInvalid);
  }
}

TEST(CgroupHome, ASlotThatLacksAFileSaysWhichAndLeavesNothing) {
  const TempDir dir;
  const auto home = CgroupHome::Make({V1(dir.path(), {"memory", "cpu", "cpuacct", "pids"})});
  ASSERT_TRUE(home.ok()) << home.error().message();
  const auto slot = home->MakeSlot("slot-0");
  ASSERT_FALSE(slot.ok());
  const std::string path = fmt::format("{}/{}", dir.path(), CgroupHomeName().value());
  EXPECT_EQ(slot.error().message(),
            fmt::format("open {}/slot-0/memory.limit_in_bytes: No such file or directory", path));
  EXPECT_TRUE(std::filesystem::is_empty(path));
}

/// A v2 cgroup that is not the root, and the server's home in it with the files that the kernel
/// would make.
class V2Base {
 public:
  V2Base(const std::string& processes, const std::string& enabled) {
    dir_.Write("cgroup.type", "domain\n");
    dir_.Write("cgroup.procs", processes);
    dir_.Write("cgroup.subtree_control", enabled);
    dir_.Write(CgroupHomeName().value() + "/cgroup.subtree_control", "");
  }
  void AddLeaf() const { dir_.Write("polybox-self/cgroup.procs", ""); }
  Result<CgroupHome> MakeHome(const std::string& below = "") const {
    return CgroupHome::Make({V2(dir_.path() + below, {"cpuset", "cpu", "memory", "pids"})});
  }
  std::string Content(const std::string& name) const {
    return ReadFile(dir_.path() + "/" + name).value_or("(missing)");
  }
  const std::string& path() const { return dir_.path(); }

 private:
  TempDir dir_;
};

TEST(CgroupHomeV2, MovesToALeafWhenAloneAndEnablesWhatIsNotYet) {
  const V2Base base(std::to_string(::getpid()) + "\n", "pids\n");
  base.AddLeaf();
  const auto home = base.MakeHome();
  ASSERT_TRUE(home.ok()) << home.error().message();
  EXPECT_EQ(base.Content("polybox-self/cgroup.procs"), "0");
  EXPECT_EQ(base.Content("cgroup.subtree_control"), "+memory +cpu");
  EXPECT_EQ(base.Content(CgroupHomeName().value() + "/cgroup.subtree_control"),
            "+memory +cpu +pids");
}

TEST(CgroupHomeV2, OtherProcessesAreNotMovedButNamed) {
  const V2Base base(fmt::format("{}\n4711\n4712\n", ::getpid()), "");
  base.AddLeaf();
  EXPECT_EQ(
      Message(base.MakeHome()),
      fmt::format("cgroup {} cannot pass on controllers while it holds other processes (4711, "
                  "4712): start polybox in a cgroup of its own (systemd: Delegate=yes)",
                  base.path()));
  EXPECT_EQ(base.Content("polybox-self/cgroup.procs"), "");
  EXPECT_EQ(base.Content("cgroup.subtree_control"), "");
}

TEST(CgroupHomeV2, ControllersThatAreEnabledAlreadyAreLeftAlone) {
  const V2Base base(std::to_string(::getpid()) + "\n", "cpu io memory pids\n");
  const auto home = base.MakeHome();
  ASSERT_TRUE(home.ok()) << home.error().message();
  EXPECT_EQ(base.Content("cgroup.subtree_control"), "cpu io memory pids\n");
  EXPECT_FALSE(std::filesystem::exists(base.path() + "/polybox-self"));
}

TEST(CgroupHomeV2, AProcessInTheLeafMakesItsHomeBesideIt) {
  const V2Base base("", "cpu memory pids\n");
  base.AddLeaf();
  const auto home = base.MakeHome("/polybox-self");
  ASSERT_TRUE(home.ok()) << home.error().message();
  EXPECT_EQ(base.Content(CgroupHomeName().value() + "/cgroup.subtree_control"),
            "+memory +cpu +pids");
}

/// No process can have this pid: it is above the largest that Linux allows.
constexpr const char* kDeadHome = "polybox-4194305-77";

TEST(SweepLeftovers, TakesTheDirectoriesOfDeadServersAndNothingElse) {
  const TempDir dir;
  const std::string own = CgroupHomeName().value();
  const std::string reused = fmt::format("polybox-{}-1", ::getpid());
  const std::vector<std::string> stays = {own,
                                          "polybox-self",
                                          "polybox-probe-4194305",
                                          "polybox-",
                                          "polybox--1",
                                          "polybox-4194305",
                                          "polybox-1x-1",
                                          "polybox-4194305-",
                                          "polybox-4194305-7-7",
                                          "xpolybox-4194305-7",
                                          "session.slice"};
  for (const std::string& name : stays) std::filesystem::create_directory(dir.path() + "/" + name);
  std::filesystem::create_directories(fmt::format("{}/{}/slot-0", dir.path(), kDeadHome));
  std::filesystem::create_directories(fmt::format("{}/{}/slot-1", dir.path(), kDeadHome));
  std::filesystem::create_directories(fmt::format("{}/{}", dir.path(), reused));
  dir.Write("polybox-4194305-8", "a file, no directory");

  const CgroupSweep sweep = SweepLeftovers({V1(dir.path(), {"memory"})});
  EXPECT_EQ(sweep.removed, 2);
  EXPECT_TRUE(sweep.kept.empty());
  EXPECT_FALSE(std::filesystem::exists(fmt::format("{}/{}", dir.path(), kDeadHome)));
  EXPECT_FALSE(std::filesystem::exists(fmt::format("{}/{}", dir.path(), reused)));
  for (const std::string& name : stays) {
    EXPECT_TRUE(std::filesystem::exists(dir.path() + "/" + name)) << name;
  }
  EXPECT_TRUE(std::filesystem::exists(dir.path() + "/polybox-4194305-8"));
}

TEST(SweepLeftovers, AHeldLockKeepsWhatLooksDeadFromThisPidNamespace) {
  const TempDir dir;
  const std::string home = fmt::format("{}/{}", dir.path(), kDeadHome);
  std::filesystem::create_directory(home);
  UniqueFd held = OpenFile(home, O_RDONLY | O_DIRECTORY).value();
  ASSERT_EQ(::flock(held.get(), LOCK_SH), 0);
  EXPECT_EQ(SweepLeftovers({V1(dir.path(), {"memory"})}).removed, 0);
  EXPECT_TRUE(std::filesystem::exists(home));
  held.reset();
  EXPECT_EQ(SweepLeftovers({V1(dir.path(), {"memory"})}).removed, 1);
}

TEST(SweepLeftovers, SaysWhatItCouldNotRemove) {
  const TempDir dir;
  dir.Write(fmt::format("{}/slot-0/file", kDeadHome), "in the way");
  const CgroupSweep sweep = SweepLeftovers({V1(dir.path(), {"memory"}), V1("/no/such", {"cpu"})});
  EXPECT_EQ(sweep.removed, 0);
  ASSERT_EQ(sweep.kept.size(), 1U);
  EXPECT_EQ(sweep.kept[0], fmt::format("{}/{}: Directory not empty", dir.path(), kDeadHome));
}

TEST(CgroupLimits, LimitsThatTheKernelWouldNotTakeAreRefusedFirst) {
  const CgroupLimits good{Bytes::MiB(64), Bytes::MiB(1), 8, std::chrono::milliseconds(10)};
  ASSERT_TRUE(ToKernel(good).ok());
  EXPECT_EQ(ToKernel(good)->memory_and_swap, 65LL << 20U);
  EXPECT_EQ(ToKernel(good)->cpu_quota, 1000);
  CgroupLimits bad = good;
  bad.memory = Bytes(0);
  EXPECT_FALSE(ToKernel(bad).ok());
  bad = good;
  bad.swap = Bytes(UINT64_MAX);
  EXPECT_FALSE(ToKernel(bad).ok());
  bad = good;
  bad.processes = 0;
  EXPECT_FALSE(ToKernel(bad).ok());
  bad = good;
  bad.cpu_per_second = std::chrono::milliseconds(9);
  EXPECT_FALSE(ToKernel(bad).ok());
}

}  // namespace
}  // namespace polybox::sys
