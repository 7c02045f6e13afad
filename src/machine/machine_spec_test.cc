// What the jail of a workspace shows, and the environment of its commands.
#include "machine/machine_spec.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "jail/plan.h"

namespace polybox::machine {
namespace {

jail::Spec System() {
  jail::Spec spec;
  spec.privileged = true;
  spec.trees = {{.source = "/usr", .target = "/usr"}};
  spec.symlinks = {{"/bin", "usr/bin"}, {"/lib", "usr/lib"}};
  return spec;
}

MachineParts Parts() {
  MachineParts parts;
  parts.identity = Identity::kMapped;
  parts.workspace = "/tmp/deep/project";
  parts.owner = {1000, 1001};
  parts.home = "/home/u/.cache/polybox/home";
  parts.shown.path = "/opt/go/bin:/usr/bin";
  return parts;
}

const jail::Tree* Find(const jail::Spec& spec, const std::string& target) {
  const auto found = std::ranges::find(spec.trees, target, &jail::Tree::target);
  return found == spec.trees.end() ? nullptr : &*found;
}

TEST(MachineSpec, OnlyTheWorkspaceAndTheHomeAreWritable) {
  MachineParts parts = Parts();
  parts.shown.directories = {"/opt/go", "/opt/go/bin"};
  parts.shown.files = {"/root/tool.sh"};
  parts.caches = {{.source = "/root/go/pkg/mod", .target = parts.home + "/go/pkg/mod"}};
  const jail::Spec spec = SpecOf(System(), parts);
  for (const jail::Tree& tree : spec.trees) {
    const bool expected = tree.target == parts.workspace || tree.target == parts.home;
    EXPECT_EQ(tree.writable, expected) << tree.target;
  }
  EXPECT_EQ(spec.home, parts.home);
}

TEST(MachineSpec, TheIdentityDecidesWhoseIdsAreUsed) {
  const jail::HostIds owner = {1000, 1001};
  struct Case {
    Identity identity;
    std::optional<jail::HostIds> mapped;
    std::optional<jail::HostIds> user;
  };
  const Case cases[] = {
      {Identity::kServer, {}, {}}, {Identity::kMapped, owner, {}}, {Identity::kOwner, {}, owner}};
  for (const Case& one : cases) {
    MachineParts parts = Parts();
    parts.identity = one.identity;
    const jail::Spec spec = SpecOf(System(), parts);
    EXPECT_EQ(Find(spec, parts.workspace)->owner, one.mapped);
    EXPECT_EQ(Find(spec, parts.home)->owner, one.mapped);
    EXPECT_EQ(spec.user, one.user);
  }
}

TEST(MachineSpec, WhatIsShownAlreadyIsNotShownAgain) {
  MachineParts parts = Parts();
  parts.shown.directories = {"/opt/go/bin", "/usr/local/bin", "/lib/x", "/opt/go"};
  parts.shown.links = {{"/bin", "/usr/bin"}, {"/opt/current", "/opt/go"}};
  const jail::Spec spec = SpecOf(System(), parts);
  std::vector<std::string> targets;
  for (const jail::Tree& tree : spec.trees) targets.push_back(tree.target);
  const std::vector<std::string> expected = {"/usr", "/opt/go", "/opt/current", parts.workspace,
                                             parts.home};
  EXPECT_EQ(targets, expected);
}

TEST(MachineSpec, AWorkspaceBelowTmpIsMountedOverTheScratchDirectory) {
  const std::string plan = jail::Describe(jail::MakePlan(SpecOf(System(), Parts())));
  const std::size_t scratch = plan.find("/tmp 2GiB");
  const std::size_t workspace = plan.find("show /tmp/deep/project");
  ASSERT_NE(scratch, std::string::npos) << plan;
  ASSERT_NE(workspace, std::string::npos) << plan;
  EXPECT_LT(scratch, workspace);
}

TEST(MachineSpec, ChangesOfACacheStayApartAndOnlyWhereThereAreNamespaces) {
  MachineParts parts = Parts();
  parts.caches = {{.source = "/root/.npm/_cacache",
                   .target = parts.home + "/.npm/_cacache",
                   .changes = "/cache/changes-0/npm",
                   .owner = jail::HostIds{0, 7}}};
  const jail::Spec spec = SpecOf(System(), parts);
  const jail::Tree* tree = Find(spec, parts.caches[0].target);
  ASSERT_NE(tree, nullptr);
  EXPECT_EQ(tree->changes, "/cache/changes-0/npm");
  EXPECT_EQ(tree->owner, (jail::HostIds{0, 7})) << "a cache can belong to another user";
  EXPECT_EQ(tree->changes_owner, (jail::HostIds{1000, 1001}));
  EXPECT_FALSE(tree->writable);
  parts.grade = jail::Grade::kLandlock;
  tree = nullptr;
  const jail::Spec bare = SpecOf(System(), parts);
  tree = Find(bare, "/root/.npm/_cacache");
  ASSERT_NE(tree, nullptr);
  EXPECT_EQ(tree->changes, "");
}

TEST(MachineSpec, TheEnvironmentIsCleanAndNamesTheHome) {
  MachineParts parts = Parts();
  parts.git_config = "/cache/gitconfig";
  const auto env = EnvironmentOf(parts, {});
  EXPECT_EQ(env.at("HOME"), parts.home);
  EXPECT_EQ(env.at("PATH"), "/opt/go/bin:/usr/bin");
  EXPECT_EQ(env.at("TMPDIR"), "/tmp");
  EXPECT_EQ(env.at("GIT_CONFIG_SYSTEM"), "/cache/gitconfig");
  parts.home = "";
  parts.git_config = "";
  const auto without = EnvironmentOf(parts, {.work = "/x/sandbox", .tmp = "/x/tmp"});
  EXPECT_EQ(without.at("HOME"), "/x/sandbox");
  EXPECT_EQ(without.at("TMPDIR"), "/x/tmp");
  EXPECT_FALSE(without.contains("GIT_CONFIG_SYSTEM"));
}

}  // namespace
}  // namespace polybox::machine
