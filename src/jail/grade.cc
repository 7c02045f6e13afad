#include "jail/grade.h"

#include <algorithm>
#include <array>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace polybox::jail {
namespace {

constexpr std::array<std::pair<Grade, std::string_view>, 4> kNames = {{
    {Grade::kNone, "none"},
    {Grade::kLandlock, "landlock"},
    {Grade::kRootless, "rootless"},
    {Grade::kFull, "full"},
}};

// With an older ABI a guest could truncate any file that its uid may write to.
constexpr int kLeastLandlockAbi = 3;
// With an older ABI the signals of a guest reach every process of its uid.
constexpr int kSignalsLandlockAbi = 6;

constexpr const char* kSeccomp = "seccomp";
constexpr const char* kLandlock = "landlock";

constexpr std::array<std::string_view, 3> kNeededControllers = {"cpu", "memory", "pids"};

/// Returns what a trial found, for the `found` of a check.
std::string Reason(const sys::Trial& trial) {
  if (trial.ok()) return "works";
  if (trial.error == ENOTSUP) return "not tried: what it needs is missing";
  return std::generic_category().message(trial.error);
}

constexpr const char* kNamespaceFix =
    "in a container, allow it (privileged, or a seccomp and AppArmor profile that permits unshare "
    "and mount); "
    "on the host, set user.max_user_namespaces above 0 and "
    "kernel.apparmor_restrict_unprivileged_userns to 0";

/// Returns the check for one facility of namespaces. Without it the best grade is
/// kLandlock.
HostCheck NamespaceCheck(std::string name, const sys::Trial& trial, std::string cost) {
  return {.name = std::move(name),
          .ok = trial.ok(),
          .untried = trial.error == ENOTSUP,
          .found = Reason(trial),
          .cost = std::move(cost),
          .fix = kNamespaceFix,
          .without = Grade::kLandlock};
}

// Mapping uid 0 needs a capability that containers may lack.
HostCheck CheckIdMap(const sys::HostFacts& facts) {
  HostCheck check = NamespaceCheck("id maps", facts.namespaces.id_map,
                                   "a user namespace without ids is of no use");
  if (facts.root && !check.ok) {
    check.fix =
        "give the container CAP_SETFCAP, or CAP_SETUID and CAP_SETGID, or another uid than 0";
  }
  return check;
}

constexpr const char* kUidCost = "all guests share one host uid; isolation is at most rootless";

HostCheck CheckUid(const sys::HostFacts& facts) {
  HostCheck check = {.name = std::string(kOwnUidsCheck),
                     .ok = facts.root && facts.own_uids.ok(),
                     .found = "running as root, which can map uids",
                     .cost = kUidCost,
                     .fix = "run polybox as root, or accept rootless",
                     .without = Grade::kRootless};
  if (!facts.root) {
    check.found = "not running as root";
  } else if (facts.own_uids.error == ERANGE) {
    check.found =
        fmt::format("uids that are mapped here: {}, too few to give some away", facts.uids);
    check.fix =
        "map more uids into the container (podman: --uidmap 0:100000:65536), or accept rootless";
  } else if (!check.ok) {
    check.found = "uid 0 that may not use other uids: " + Reason(facts.own_uids);
    check.fix = "allow setuid, setgid and chown to other uids, or accept rootless";
    if (!facts.missing_capabilities.empty()) {
      const std::string missing = fmt::format("{}", fmt::join(facts.missing_capabilities, ", "));
      check.found += fmt::format(" (it lacks {})", missing);
      check.fix = fmt::format("give the container {}, or accept rootless", missing);
    }
  }
  return check;
}

/// Returns "v1", "v2", "hybrid v1 and v2" or "none mounted", by where the controllers are.
std::string_view CgroupKind(const sys::CgroupFacts& cgroups) {
  bool v1 = false;
  bool v2 = false;
  for (const sys::CgroupHierarchy& hierarchy : cgroups.hierarchies) {
    (hierarchy.version == sys::CgroupVersion::kV1 ? v1 : v2) = true;
  }
  if (v1 && v2) return "hybrid v1 and v2";
  return v1 ? "v1" : v2 ? "v2" : "none mounted";
}

/// Returns " (memory: Permission denied)" for the first controller that is needed and refused.
std::string FirstRefusal(const sys::CgroupFacts& cgroups,
                         const std::vector<std::string_view>& missing) {
  for (const std::string_view controller : missing) {
    const auto refusal = cgroups.refused.find(std::string(controller));
    if (refusal != cgroups.refused.end()) {
      return fmt::format(" ({}: {})", controller, refusal->second);
    }
  }
  return "";
}

/// Root without controllers runs in a cgroup that is not its own, so this remedy comes
/// first.
constexpr std::string_view kCgroupFix =
    "start polybox in a cgroup of its own (systemd: Delegate=yes; container: a writable "
    "/sys/fs/cgroup)";

/// A host lacks cgroups if one of the needed controllers is not writable.
HostCheck CheckCgroups(const sys::HostFacts& facts) {
  const sys::CgroupFacts& cgroups = facts.cgroups;
  std::vector<std::string_view> missing;
  for (const std::string_view needed : kNeededControllers) {
    if (std::ranges::count(cgroups.writable, needed) == 0) missing.push_back(needed);
  }
  const std::string writable = cgroups.writable.empty()
                                   ? std::string("none")
                                   : fmt::format("{}", fmt::join(cgroups.writable, " "));
  return {.name = "cgroups",
          .ok = missing.empty(),
          .found = fmt::format("{}, usable: {}{}", CgroupKind(cgroups), writable,
                               FirstRefusal(cgroups, missing)),
          .cost = fmt::format(
              "the kernel does not limit {} of a whole run; a watchdog counts every 20 ms, and "
              "isolation is at most rootless",
              fmt::join(missing, ", ")),
          .fix = fmt::format("{}{}", kCgroupFix, facts.root ? "" : ", or as root"),
          .without = Grade::kRootless};
}

HostCheck CheckSeccomp(const sys::HostFacts& facts) {
  return {.name = kSeccomp,
          .ok = facts.seccomp.ok(),
          .found = facts.seccomp.ok() ? "filters can kill the process" : Reason(facts.seccomp),
          .cost = "system calls cannot be filtered: no isolation grade can be given",
          .fix = "use a kernel with CONFIG_SECCOMP_FILTER",
          .without = Grade::kNone};
}

HostCheck CheckLandlock(const sys::HostFacts& facts) {
  const int abi = facts.landlock_abi;
  std::string found = abi > 0 ? fmt::format("ABI {}", abi) : "not in this kernel, or off";
  if (abi > 0 && abi < kLeastLandlockAbi) {
    found += fmt::format(", which does not cover truncation: {} is needed", kLeastLandlockAbi);
  } else if (abi > 0 && abi < kSignalsLandlockAbi) {
    found += fmt::format(", which does not cover signals as {} does", kSignalsLandlockAbi);
  }
  return {
      .name = kLandlock,
      .ok = abi >= kLeastLandlockAbi,
      .found = std::move(found),
      .cost =
          "no file system rules below the namespaces, and none at all where namespaces are missing",
      .fix = "use Linux 6.2 or newer with landlock in the lsm= list",
      .without = std::nullopt};
}

HostCheck CheckTreeOverlay(const sys::HostFacts& facts) {
  return {.name = "own view of /usr",
          .ok = facts.namespaces.tree_overlay.ok(),
          .found = Reason(facts.namespaces.tree_overlay),
          .cost =
              "guests are shown the host's own inodes: they can signal each other by locks and "
              "watches on them, and see which of the host's programs are used",
          .fix =
              "use Linux 5.11 or newer with the overlay module, and a root file system that is "
              "not an overlay on an overlay (in nested containers, a volume)",
          .without = std::nullopt};
}

HostCheck CheckDevices(const sys::HostFacts& facts) {
  return {.name = "own devices",
          .ok = facts.devices.ok(),
          .found = Reason(facts.devices),
          .cost =
              "guests are shown the host's device nodes: they can signal each other by record "
              "locks on them",
          .fix = facts.root ? "in a container, allow mknod and mounts (CAP_MKNOD, CAP_SYS_ADMIN)"
                            : "run polybox as root; in a container, allow mknod (CAP_MKNOD)",
          .without = std::nullopt};
}

HostCheck CheckClone3(const sys::HostFacts& facts) {
  return {.name = "clone3",
          .ok = facts.clone3.ok(),
          .found = Reason(facts.clone3),
          .cost = "Python and Ruby programs start cold; the isolation is the same",
          .fix = "use a seccomp profile that allows clone3 (Unconfined, or one of your own)",
          .without = std::nullopt};
}

HostCheck CheckHostName(const sys::HostFacts& facts) {
  return {.name = "own host name",
          .ok = facts.namespaces.host_name.ok(),
          .found = Reason(facts.namespaces.host_name),
          .cost = "guests see the name of the host",
          .fix = "in a container, use a seccomp profile that allows sethostname",
          .without = std::nullopt};
}

HostCheck CheckTemporaryDirectory(const sys::HostFacts& facts) {
  const std::string& noexec = facts.noexec_directory;
  return {.name = "executable temporary directory",
          .ok = noexec.empty(),
          .found = noexec.empty() ? "works" : noexec + " is mounted noexec",
          .cost = "without namespaces, what a compiler makes cannot be executed",
          .fix = "mount a volume on /tmp, or name a directory that is not noexec with TMPDIR",
          .without = std::nullopt,
          .bare_only = true};
}

HostCheck CheckSubreaper(const sys::HostFacts& facts) {
  return {.name = "child subreaper",
          .ok = facts.subreaper.ok(),
          .found = Reason(facts.subreaper),
          .cost = "without namespaces, a process whose parent has ended can outlive its run",
          .fix = "allow prctl(PR_SET_CHILD_SUBREAPER), which the filter of an outer jail refuses",
          .without = std::nullopt,
          .bare_only = true};
}

}  // namespace

Uids UsualUids() {
  return ::geteuid() == 0 ? Uids::kOwn : Uids::kShared;
}

std::string LimitsNote(Grade grade) {
  if (grade == Grade::kFull) return "";
  return "limits: no cgroups here: a watchdog counts memory, processes and processor time every 20 "
         "ms";
}

std::string_view GradeName(Grade grade) {
  return kNames.at(static_cast<std::size_t>(grade)).second;
}

std::optional<Grade> ParseGrade(std::string_view name) {
  for (const auto& [grade, known] : kNames) {
    if (known == name) return grade;
  }
  return std::nullopt;
}

std::vector<HostCheck> CheckHost(const sys::HostFacts& facts) {
  const sys::NamespaceTrials& trials = facts.namespaces;
  std::vector<HostCheck> checks = {
      NamespaceCheck("user namespaces", trials.user,
                     "no jail of namespaces: each slot lives in a user namespace of its own"),
      CheckIdMap(facts),
      NamespaceCheck("mount namespaces", trials.mount, "guests would see the host's files"),
      NamespaceCheck("pid namespaces", trials.pid, "guests would see the host's processes"),
      NamespaceCheck("network namespaces", trials.net, "guests would reach the host's network"),
      NamespaceCheck("ipc namespaces", trials.ipc, "guests would share System V IPC"),
      NamespaceCheck("uts namespaces", trials.uts, "guests would see the host's name"),
      NamespaceCheck("fresh /proc", trials.fresh_proc,
                     "a guest's /proc cannot be its own (a container that masks /proc does this)"),
      NamespaceCheck("tmpfs", trials.tmpfs, "no size-limited scratch space"),
      CheckUid(facts),
      CheckCgroups(facts),
      CheckSeccomp(facts),
      CheckLandlock(facts),
      CheckTreeOverlay(facts),
      CheckDevices(facts),
      CheckClone3(facts),
      CheckHostName(facts),
      CheckTemporaryDirectory(facts),
      CheckSubreaper(facts),
  };
  // Where namespaces fail, Landlock is the next grade. Without Landlock only kNone is left.
  if (facts.landlock_abi < kLeastLandlockAbi) {
    for (HostCheck& check : checks) {
      if (check.without == Grade::kLandlock) check.without = Grade::kNone;
    }
  }
  return checks;
}

/// Every failed check with a `without` is an upper bound of the grade.
Grade BestGrade(const std::vector<HostCheck>& checks) {
  Grade best = Grade::kFull;
  for (const HostCheck& check : checks) {
    if (!check.ok && check.without) best = std::min(best, *check.without);
  }
  return best;
}

const HostCheck* MissingFor(const std::vector<HostCheck>& checks, Grade grade) {
  for (const HostCheck& check : checks) {
    if (check.ok) continue;
    // Grade kLandlock needs only these two checks. For the other grades the order of grades
    // decides.
    const bool is_part = check.name == kSeccomp || check.name == kLandlock;
    const bool costs =
        grade == Grade::kLandlock ? is_part : check.without && *check.without < grade;
    if (costs) return &check;
  }
  return nullptr;
}

Result<Grade> ChooseGrade(const std::vector<HostCheck>& checks, const GradeWish& wish) {
  const Grade minimum = wish.minimum;
  if (wish.wanted && *wish.wanted < minimum) {
    const std::string_view wanted = GradeName(*wish.wanted);
    return Error(ErrorKind::kInvalid,
                 fmt::format("isolation {} is asked for and min-isolation is {}", wanted,
                             GradeName(minimum)))
        .WithFix(fmt::format("accept it with --min-isolation={}", wanted));
  }
  const Grade best = BestGrade(checks);
  if (!wish.wanted && best >= minimum && best != Grade::kNone) return best;
  const Grade needed = std::max(wish.wanted.value_or(minimum), minimum);
  if (wish.wanted == Grade::kNone) return Grade::kNone;
  // If the operator names no grade, at least grade landlock is needed. A failed check rules it out.
  const HostCheck* missing = MissingFor(checks, std::max(needed, Grade::kLandlock));
  if (missing == nullptr) return needed;
  std::string fix = missing->fix;
  if (!wish.wanted && best == Grade::kLandlock)
    fix += "; or accept it with --min-isolation=landlock";
  if (!wish.wanted && minimum == Grade::kNone) fix += "; or ask for none with --isolation=none";
  return Error(ErrorKind::kUnavailable,
               fmt::format("isolation {} is needed and this host gives {}: {}: {}",
                           GradeName(std::max(needed, Grade::kLandlock)), GradeName(best),
                           missing->name, missing->found))
      .WithFix(std::move(fix));
}

}  // namespace polybox::jail
