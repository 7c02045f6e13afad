#include "jail/grade.h"

#include <gtest/gtest.h>

namespace polybox::jail {
namespace {

sys::HostFacts IdealHost() {
  sys::HostFacts facts;
  facts.kernel = "6.1";
  facts.root = true;
  facts.landlock_abi = 7;
  facts.cgroups.hierarchies = {{sys::CgroupVersion::kV2, {"cpu", "memory", "pids"}, "/x"}};
  facts.cgroups.writable = {"cpu", "memory", "pids"};
  return facts;
}

const HostCheck& Named(const std::vector<HostCheck>& checks, std::string_view name) {
  for (const HostCheck& check : checks) {
    if (check.name == name) return check;
  }
  ADD_FAILURE() << "no check called " << name;
  return checks[0];
}

struct Case {
  const char* what;
  void (*change)(sys::HostFacts&);
  Grade grade;
};

TEST(Grade, IsThatOfTheWeakestPrimitive) {
  const Case cases[] = {
      {"nothing missing", [](sys::HostFacts&) {}, Grade::kFull},
      {"no root", [](sys::HostFacts& f) { f.root = false; }, Grade::kRootless},
      {"no memory controller", [](sys::HostFacts& f) { f.cgroups.writable = {"cpu", "pids"}; },
       Grade::kRootless},
      {"no cgroups", [](sys::HostFacts& f) { f.cgroups = {}; }, Grade::kRootless},
      {"masked proc", [](sys::HostFacts& f) { f.namespaces.fresh_proc.error = EPERM; },
       Grade::kLandlock},
      {"no user namespaces", [](sys::HostFacts& f) { f.namespaces.user.error = ENOSPC; },
       Grade::kLandlock},
      {"no user namespaces, no landlock",
       [](sys::HostFacts& f) {
         f.namespaces.user.error = EPERM;
         f.landlock_abi = 0;
       },
       Grade::kNone},
      {"no landlock alone", [](sys::HostFacts& f) { f.landlock_abi = 0; }, Grade::kFull},
      {"no overlayfs", [](sys::HostFacts& f) { f.namespaces.overlayfs.error = EPERM; },
       Grade::kFull},
      {"/usr on two overlays", [](sys::HostFacts& f) { f.namespaces.tree_overlay.error = EINVAL; },
       Grade::kFull},
      {"no device nodes", [](sys::HostFacts& f) { f.devices.error = EPERM; }, Grade::kFull},
      {"no seccomp", [](sys::HostFacts& f) { f.seccomp.error = EINVAL; }, Grade::kNone},
  };
  for (const Case& c : cases) {
    sys::HostFacts facts = IdealHost();
    c.change(facts);
    EXPECT_EQ(GradeName(BestGrade(CheckHost(facts))), GradeName(c.grade)) << c.what;
  }
}

TEST(Grade, WhatIsMissingSaysWhatItCostsAndHowToFixIt) {
  sys::HostFacts facts = IdealHost();
  facts.cgroups.writable = {"cpu"};
  facts.cgroups.refused = {{"blkio", "Permission denied"}, {"memory", "Read-only file system"}};
  const std::vector<HostCheck> checks = CheckHost(facts);
  const HostCheck& cgroups = Named(checks, "cgroups");
  EXPECT_FALSE(cgroups.ok);
  EXPECT_EQ(cgroups.found, "v2, usable: cpu (memory: Read-only file system)");
  EXPECT_EQ(cgroups.cost.find("no group limit for memory, pids"), 0U);
  for (const HostCheck& check : checks) {
    EXPECT_FALSE(check.cost.empty()) << check.name;
    EXPECT_FALSE(check.fix.empty()) << check.name;
  }
}

TEST(Grade, NamesAreReadBack) {
  for (const Grade grade : {Grade::kNone, Grade::kLandlock, Grade::kRootless, Grade::kFull}) {
    EXPECT_EQ(ParseGrade(GradeName(grade)), grade);
  }
  EXPECT_EQ(ParseGrade("best"), std::nullopt);
}

}  // namespace
}  // namespace polybox::jail
