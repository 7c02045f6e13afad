#include "jail/plan.h"

#include <algorithm>

#include <gtest/gtest.h>
#include <sys/mount.h>

namespace polybox::jail {
namespace {

Spec SampleSpec() {
  Spec spec;
  spec.trees = {{"/usr", "/usr", false},
                {"/usr/lib/tool", "/usr/lib/tool", false},  // shown by /usr already
                {"/home/user/.tool/1.2", "/home/user/.tool/1.2", false},
                {"/etc/ld.so.cache", "/etc/ld.so.cache", true},
                {"/dev/null", "/dev/null", true},
                {"/var/sets/node", "/packages", false}};
  spec.symlinks = {{"/bin", "usr/bin"}, {"/lib64", "usr/lib64"}};
  spec.scratch = Bytes::MiB(64);
  spec.scratch_inodes = 4096;
  return spec;
}

TEST(Plan, IsTheListOfStepsInOrder) {
  EXPECT_EQ(Describe(MakePlan(SampleSpec())),
            R"(new root
keep the host's /proc, covered, at /.kept
directory /proc
show read-only /etc/ld.so.cache from /etc/ld.so.cache by descriptor, copied
show read-only /home/user/.tool/1.2 from /home/user/.tool/1.2 by descriptor, through an overlay
show read-only /packages from /var/sets/node by descriptor, through an overlay
show read-only /usr from /usr by descriptor, through an overlay
stage devices of its own
show read-only noexec /dev/null from devices/null
link /bin -> usr/bin
link /lib64 -> usr/lib64
file /.empty
file /etc/passwd
file /etc/group
file /etc/hosts
file /etc/nsswitch.conf
file /etc/hostname
link /dev/fd -> /proc/self/fd
link /dev/stdin -> /proc/self/fd/0
link /dev/stdout -> /proc/self/fd/1
link /dev/stderr -> /proc/self/fd/2
scratch /sandbox 64MiB 4096 inodes mode 755
scratch noexec /tmp 64MiB 4096 inodes mode 1777
scratch noexec /dev/shm 16MiB 1024 inodes mode 1777
host name sandbox
pivot
root read-only
)");
}

TEST(Plan, OfALeaseHasTheLoopbackAndTerminals) {
  Spec spec = SampleSpec();
  spec.for_lease = true;
  const std::string text = Describe(MakePlan(spec));
  EXPECT_NE(text.find("loopback\nterminals at /dev/pts\nlink /dev/ptmx -> pts/ptmx\npivot\n"),
            std::string::npos)
      << text;
  spec.egress = true;
  EXPECT_EQ(Describe(MakePlan(spec)).find("\nloopback\n"), std::string::npos)
      << "the egress listener brings it up";
}

TEST(Plan, WithoutPrivilegeTheSlotBindsPathsItself) {
  Spec spec = SampleSpec();
  spec.privileged = false;
  const Plan plan = MakePlan(spec);
  EXPECT_TRUE(plan.trees.empty());
  EXPECT_TRUE(plan.devices.empty());
  for (const init::Operation& operation : plan.operations) EXPECT_EQ(operation.tree, -1);
}

TEST(Plan, WithoutDevicesOfItsOwnTheSlotGetsTheHosts) {
  Spec spec = SampleSpec();
  spec.own_devices = false;
  const std::string text = Describe(MakePlan(spec));
  EXPECT_NE(text.find("show read-only noexec /dev/null from /dev/null by descriptor\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("devices"), std::string::npos) << text;
}

TEST(Plan, NoTreeOfTheHostIsShownWithItsOwnInodes) {
  for (const bool privileged : {true, false}) {
    Spec spec = SampleSpec();
    spec.privileged = privileged;
    for (const init::Operation& operation : MakePlan(spec).operations) {
      if (operation.kind != init::OperationKind::kBind) continue;
      const bool device = operation.flags & MS_NOEXEC;
      EXPECT_EQ(operation.own, !device) << Describe(operation);
    }
  }
}

TEST(Plan, AMountBelowATreeIsShownAfterTheTree) {
  Spec spec = SampleSpec();
  spec.trees.push_back({"/usr/local", "/usr/local", false, true});
  const std::string text = Describe(MakePlan(spec));
  const std::size_t parent = text.find("show read-only /usr from");
  const std::size_t child = text.find("show read-only /usr/local from /usr/local by descriptor");
  ASSERT_NE(child, std::string::npos) << text;
  EXPECT_LT(parent, child);
}

TEST(Plan, NothingOfTheHostIsWritableOrGrantsPrivileges) {
  for (const init::Operation& operation : MakePlan(SampleSpec()).operations) {
    if (operation.kind != init::OperationKind::kBind) continue;
    EXPECT_NE(operation.flags & MS_NOSUID, 0U) << Describe(operation);
    EXPECT_NE(operation.flags & MS_RDONLY, 0U) << Describe(operation);
    const bool device = operation.target.starts_with("dev/");
    EXPECT_NE(operation.flags & (device ? MS_NOEXEC : MS_NODEV), 0U) << Describe(operation);
  }
}

TEST(Plan, TreeIndexesFollowTheTrees) {
  const Plan plan = MakePlan(SampleSpec());
  for (const init::Operation& operation : plan.operations) {
    if (operation.tree < 0) continue;
    const auto index = static_cast<std::size_t>(operation.tree);
    if (operation.kind == init::OperationKind::kStage) {
      EXPECT_EQ(index, plan.trees.size()) << "they come last";
      continue;
    }
    EXPECT_EQ(plan.trees.at(index).source, operation.source);
  }
}

TEST(Spec, ShowsWhatExistsAndPassesOverTheRest) {
  Spec spec;
  ShowPath(spec, "/dev/nul*");
  ShowPath(spec, "/no/such/path");
  ASSERT_EQ(spec.trees.size(), 1U);
  EXPECT_EQ(spec.trees[0], (Tree{"/dev/null", "/dev/null", true}));
}

TEST(Spec, OfTheHostHasPrograms) {
  const Spec spec = HostSpec();
  const auto has = [&](const char* path) {
    return std::ranges::any_of(spec.trees, [&](const Tree& tree) { return tree.target == path; });
  };
  EXPECT_TRUE(has("/usr"));
  EXPECT_TRUE(has("/dev/null"));
  EXPECT_FALSE(has("/etc"));
  EXPECT_FALSE(has("/etc/shadow"));
}

}  // namespace
}  // namespace polybox::jail
