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
show read-only noexec /dev/null from /dev/null by descriptor
show read-only /etc/ld.so.cache from /etc/ld.so.cache by descriptor
show read-only /home/user/.tool/1.2 from /home/user/.tool/1.2 by descriptor
show read-only /packages from /var/sets/node by descriptor
show read-only /usr from /usr by descriptor
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

TEST(Plan, WithoutPrivilegeTheSlotBindsPathsItself) {
  Spec spec = SampleSpec();
  spec.privileged = false;
  const Plan plan = MakePlan(spec);
  EXPECT_TRUE(plan.trees.empty());
  for (const init::Operation& operation : plan.operations) EXPECT_EQ(operation.tree, -1);
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
    EXPECT_EQ(plan.trees.at(static_cast<std::size_t>(operation.tree)).source, operation.source);
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
