#include "jail/bare_plan.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/testing/temp_dir.h"
#include "jail/init/landlock.h"

namespace polybox::jail {
namespace {

Spec SampleSpec(Grade grade) {
  Spec spec;
  spec.grade = grade;
  spec.trees = {{"/usr", "/usr", false},
                {"/usr", "/usr", false},  // a toolchain there names it again
                {"/etc/ld.so.cache", "/etc/ld.so.cache", true},
                {"/dev/null", "/dev/null", true},
                {"/var/sets/node", "/packages", false}};
  return spec;
}

TEST(BarePlan, OfLandlockIsTwoDirectoriesAndTheRulesAboutTheHost) {
  EXPECT_EQ(Describe(MakePlan(SampleSpec(Grade::kLandlock))),
            R"(directory /sandbox
directory /tmp
allow /usr: read list execute
allow /etc/ld.so.cache: read execute
allow /dev/null: read write
allow /var/sets/node: read list execute
allow /etc/ssl/openssl.cnf: read
allow /proc/cpuinfo: read
allow /proc/meminfo: read
allow /proc/stat: read
allow /proc/loadavg: read
allow /proc/uptime: read
allow /proc/filesystems: read
allow /proc/version: read
allow sandbox: read list execute write truncate make-file make-directory make-link make-fifo remove-file remove-directory move
allow tmp: read list write truncate make-file make-directory make-link make-fifo remove-file remove-directory move
)");
}

TEST(BarePlan, OnlyTheProcessesOfALeaseControlTheirTerminal) {
  for (const bool for_lease : {false, true}) {
    Spec spec = SampleSpec(Grade::kLandlock);
    spec.for_lease = for_lease;
    spec.trees.push_back({"/dev/tty", "/dev/tty", true});
    const std::string text = Describe(MakePlan(spec));
    const bool controls = text.find("allow /dev/tty: read write device-control\n") != text.npos;
    EXPECT_EQ(controls, for_lease) << text;
  }
}

TEST(BarePlan, OfNoneIsTheDirectoriesAlone) {
  EXPECT_EQ(Describe(MakePlan(SampleSpec(Grade::kNone))), "directory /sandbox\ndirectory /tmp\n");
}

TEST(BarePlan, NothingOfTheHostIsWritableButDevices) {
  Spec spec = HostSpec();
  spec.grade = Grade::kLandlock;
  constexpr std::uint64_t kOnlyReading = init::kReadFile | init::kReadDirectory | init::kExecute;
  for (const init::PathRule& rule : MakePlan(spec).rules) {
    const bool device = rule.path.starts_with("/dev/");
    if (!rule.path.starts_with('/')) continue;
    const std::uint64_t allowed = device ? init::kReadFile | init::kWriteFile : kOnlyReading;
    EXPECT_EQ(rule.rights & ~allowed, 0U) << rule.path << ": " << DescribeRights(rule.rights);
  }
}

TEST(BarePlan, TheRightsThatLandlockRefusesGrowWithItsAbi) {
  const auto last = [](int abi) { return init::HandledBy(abi); };
  EXPECT_EQ(last(2).files & init::kTruncate, 0U);
  EXPECT_NE(last(3).files & init::kTruncate, 0U);
  EXPECT_EQ(last(3).network, 0U);
  EXPECT_NE(last(4).network, 0U);
  EXPECT_NE(last(5).files & init::kDeviceControl, 0U);
  EXPECT_EQ(last(5).scopes, 0U);
  EXPECT_NE(last(6).scopes, 0U);
}

TEST(BarePlan, ATreeBelowAClosedDirectoryIsNoticed) {
  const testing::TempDir temp;
  const std::string home = temp.path() + "/home";
  ASSERT_EQ(::chmod(temp.path().c_str(), 0755), 0);
  ASSERT_EQ(::mkdir(home.c_str(), 0755), 0);
  ASSERT_EQ(::mkdir((home + "/tool").c_str(), 0755), 0);
  const std::vector<Tree> trees = {{home + "/tool", home + "/tool", false}};
  EXPECT_FALSE(HasClosedTrees(trees));
  ASSERT_EQ(::chmod(home.c_str(), 0700), 0);
  EXPECT_TRUE(HasClosedTrees(trees));
}

TEST(Places, AreTheSlotsOwnDirectoriesWithoutNamespaces) {
  EXPECT_EQ(PlacesIn(SampleSpec(Grade::kRootless), "/h").work, "/sandbox");
  const Places places = PlacesIn(SampleSpec(Grade::kLandlock), "/h");
  EXPECT_EQ(places.work, "/h/sandbox");
  EXPECT_EQ(places.tmp, "/h/tmp");
  EXPECT_EQ(places.packages, "/var/sets/node");
}

}  // namespace
}  // namespace polybox::jail
