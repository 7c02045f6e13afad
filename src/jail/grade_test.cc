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
      {"no user namespaces, a Landlock that is too old",
       [](sys::HostFacts& f) {
         f.namespaces.user.error = EPERM;
         f.landlock_abi = 2;
       },
       Grade::kNone},
      {"root without the right to other uids", [](sys::HostFacts& f) { f.own_uids.error = EPERM; },
       Grade::kRootless},
      {"root with one uid", [](sys::HostFacts& f) { f.own_uids.error = ERANGE; }, Grade::kRootless},
      {"root that may not map itself", [](sys::HostFacts& f) { f.namespaces.id_map.error = EPERM; },
       Grade::kLandlock},
      {"no clone3", [](sys::HostFacts& f) { f.clone3.error = ENOSYS; }, Grade::kFull},
      {"/usr on two overlays", [](sys::HostFacts& f) { f.namespaces.tree_overlay.error = EINVAL; },
       Grade::kFull},
      {"no device nodes", [](sys::HostFacts& f) { f.devices.error = EPERM; }, Grade::kFull},
      {"no host name of its own", [](sys::HostFacts& f) { f.namespaces.host_name.error = EPERM; },
       Grade::kFull},
      {"a noexec /tmp", [](sys::HostFacts& f) { f.noexec_directory = "/tmp"; }, Grade::kFull},
      {"no seccomp", [](sys::HostFacts& f) { f.seccomp.error = EINVAL; }, Grade::kNone},
  };
  for (const Case& c : cases) {
    sys::HostFacts facts = IdealHost();
    c.change(facts);
    EXPECT_EQ(GradeName(BestGrade(CheckHost(facts))), GradeName(c.grade)) << c.what;
  }
}

TEST(Grade, AMissingFeatureSaysWhatItCostsAndHowToFixIt) {
  sys::HostFacts facts = IdealHost();
  facts.cgroups.writable = {"cpu"};
  facts.cgroups.refused = {{"blkio", "Permission denied"}, {"memory", "Read-only file system"}};
  const std::vector<HostCheck> checks = CheckHost(facts);
  const HostCheck& cgroups = Named(checks, "cgroups");
  EXPECT_FALSE(cgroups.ok);
  EXPECT_EQ(cgroups.found, "v2, usable: cpu (memory: Read-only file system)");
  EXPECT_EQ(cgroups.cost.find("the kernel does not limit memory, pids of a whole run"), 0U);
  for (const HostCheck& check : checks) {
    EXPECT_FALSE(check.cost.empty()) << check.name;
    EXPECT_FALSE(check.fix.empty()) << check.name;
  }
}

sys::HostFacts LockedDownPod() {
  sys::HostFacts facts = IdealHost();
  facts.root = false;
  facts.namespaces.user.error = EPERM;
  facts.cgroups.writable = {};
  return facts;
}

sys::HostFacts PoorHost() {
  sys::HostFacts facts = LockedDownPod();
  facts.landlock_abi = 2;
  return facts;
}

struct Choice {
  sys::HostFacts (*host)();
  GradeWish wish;
  /// The name of the chosen grade, or the beginning of the refusal.
  const char* outcome;
  /// The end of the advice.
  const char* fix = "";
};

std::string Outcome(const Result<Grade>& chosen) {
  return chosen.ok() ? std::string(GradeName(*chosen)) : chosen.error().message();
}

TEST(Grade, IsChosenByTheHostAndTheSettings) {
  const Choice choices[] = {
      {IdealHost, {Grade::kRootless, {}}, "full"},
      {IdealHost, {Grade::kNone, {}}, "full"},
      {IdealHost, {Grade::kRootless, Grade::kRootless}, "rootless"},
      {IdealHost, {Grade::kLandlock, Grade::kLandlock}, "landlock"},
      {IdealHost, {Grade::kNone, Grade::kNone}, "none"},
      {IdealHost,
       {Grade::kRootless, Grade::kLandlock},
       "isolation landlock is asked for and min-isolation is rootless",
       "--min-isolation=landlock"},
      {IdealHost,
       {Grade::kLandlock, Grade::kNone},
       "isolation none is asked for and min-isolation is landlock",
       "--min-isolation=none"},
      {LockedDownPod,
       {Grade::kRootless, {}},
       "isolation rootless is needed and this host gives landlock: user namespaces: Operation not "
       "permitted",
       "or accept it with --min-isolation=landlock"},
      {LockedDownPod, {Grade::kLandlock, {}}, "landlock"},
      {LockedDownPod, {Grade::kNone, {}}, "landlock"},
      {LockedDownPod,
       {Grade::kLandlock, Grade::kFull},
       "isolation full is needed and this host gives landlock: user namespaces",
       "kernel.apparmor_restrict_unprivileged_userns to 0"},
      {PoorHost,
       {Grade::kLandlock, {}},
       "isolation landlock is needed and this host gives none: landlock: ABI 2, which does not "
       "cover truncation: 3 is needed",
       "with landlock in the lsm= list"},
      {PoorHost,
       {Grade::kNone, {}},
       "isolation landlock is needed and this host gives none: landlock",
       "or ask for none with --isolation=none"},
      {PoorHost, {Grade::kNone, Grade::kNone}, "none"},
  };
  for (const Choice& choice : choices) {
    const Result<Grade> chosen = ChooseGrade(CheckHost(choice.host()), choice.wish);
    const std::string outcome = Outcome(chosen);
    const std::string fix = chosen.ok() ? "" : chosen.error().fix();
    EXPECT_TRUE(outcome.starts_with(choice.outcome)) << outcome << " instead of " << choice.outcome;
    EXPECT_TRUE(fix.ends_with(choice.fix)) << fix << " instead of " << choice.fix;
    EXPECT_EQ(fix.empty(), std::string_view(choice.fix).empty()) << fix;
  }
}

TEST(Grade, WithoutNamespacesOnHandLandlockCanStillBeMissing) {
  sys::HostFacts facts = IdealHost();
  facts.landlock_abi = 0;
  const auto chosen = ChooseGrade(CheckHost(facts), {Grade::kLandlock, Grade::kLandlock});
  EXPECT_TRUE(
      Outcome(chosen).starts_with("isolation landlock is needed and this host gives full: "
                                  "landlock: not in this kernel, or off"))
      << Outcome(chosen);
}

TEST(Grade, ALandlockThatDoesNotCoverSignalsSaysSo) {
  sys::HostFacts facts = IdealHost();
  facts.landlock_abi = 4;
  const std::vector<HostCheck> checks = CheckHost(facts);
  EXPECT_TRUE(Named(checks, "landlock").ok);
  EXPECT_EQ(Named(checks, "landlock").found, "ABI 4, which does not cover signals as 6 does");
}

TEST(Grade, OnlyWhoIsNotRootIsToldToBe) {
  sys::HostFacts facts = IdealHost();
  facts.cgroups.writable = {};
  EXPECT_EQ(Named(CheckHost(facts), "cgroups").fix,
            "start polybox in a cgroup of its own (systemd: Delegate=yes; container: a writable "
            "/sys/fs/cgroup)");
  facts.root = false;
  EXPECT_EQ(Named(CheckHost(facts), "cgroups").fix,
            "start polybox in a cgroup of its own (systemd: Delegate=yes; container: a writable "
            "/sys/fs/cgroup), or as root");
}

TEST(Grade, EveryCapabilityThatIsMissingForOtherUidsIsNamed) {
  sys::HostFacts facts = IdealHost();
  facts.own_uids.error = EPERM;
  facts.missing_capabilities = {"CAP_CHOWN", "CAP_KILL"};
  const std::vector<HostCheck> checks = CheckHost(facts);
  const HostCheck& check = Named(checks, kOwnUidsCheck);
  EXPECT_EQ(check.found,
            "uid 0 that may not use other uids: Operation not permitted (it lacks CAP_CHOWN, "
            "CAP_KILL)");
  EXPECT_EQ(check.fix, "give the container CAP_CHOWN, CAP_KILL, or accept rootless");
}

TEST(Grade, NamesAreReadBack) {
  for (const Grade grade : {Grade::kNone, Grade::kLandlock, Grade::kRootless, Grade::kFull}) {
    EXPECT_EQ(ParseGrade(GradeName(grade)), grade);
  }
  EXPECT_EQ(ParseGrade("best"), std::nullopt);
}

}  // namespace
}  // namespace polybox::jail
