#include "sys/host_facts.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <optional>
#include <sched.h>
#include <set>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include "base/files.h"
#include "base/unique_fd.h"
#include "sys/own_ids.h"
#include "sys/own_limits.h"
#include "sys/temporary.h"

namespace polybox::sys {
namespace {

/// The trial was not made, because a trial that it depends on failed.
constexpr int kNotTried = ENOTSUP;

Trial FromReturn(long result) {
  return Trial{result < 0 ? errno : 0};
}

/// Returns a descriptor of a detached copy of the mount at /usr, or -1.
int OpenUsr() {
  return static_cast<int>(
      ::syscall(SYS_open_tree, AT_FDCWD, "/usr", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC));
}

// The code from here to "End of the forked child's code" runs in a forked child. It may only make
// async-signal-safe calls.

pid_t RawFork() {
  return static_cast<pid_t>(::syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr));
}

Trial WriteProcFile(const char* path, const char* text) {
  const int fd = ::open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return Trial{errno};
  const Trial trial = FromReturn(::write(fd, text, std::strlen(text)));
  ::close(fd);
  return trial;
}

Trial TryMount(const char* type, const char* directory, const char* options) {
  ::mkdir(directory, 0700);
  return FromReturn(::mount("polybox", directory, type, 0, options));
}

/// `usr` is a detached copy of /usr that root made outside the namespaces, else -1.
Trial TryTreeOverlay(int usr) {
  ::mkdir("/tmp/usr", 0700);
  const long placed =
      usr >= 0 ? ::syscall(SYS_move_mount, usr, "", AT_FDCWD, "/tmp/usr", MOVE_MOUNT_F_EMPTY_PATH)
               : ::mount("/usr", "/tmp/usr", nullptr, MS_BIND | MS_REC, nullptr);
  if (placed != 0) return Trial{errno};
  return TryMount("overlay", "/tmp/tree", "lowerdir=/tmp/lower:/tmp/usr,userxattr");
}

/// Runs in the new mount namespace, so every mount made here ends with it.
void TryFileSystems(NamespaceTrials& trials, int usr) {
  ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
  trials.tmpfs = FromReturn(::mount("polybox", "/tmp", "tmpfs", 0, "size=1m"));
  if (!trials.tmpfs.ok()) return;
  ::mkdir("/tmp/lower", 0700);
  trials.tree_overlay = TryTreeOverlay(usr);
  if (!trials.pid.ok()) return;
  // The first child is the init of the new PID namespace. fork() of the C library takes locks,
  // which another thread of the server may have held when this process was made.
  const pid_t pid = RawFork();
  if (pid == 0) {
    trials.fresh_proc = TryMount("proc", "/tmp/proc", nullptr);
    ::_exit(0);
  }
  if (pid > 0) ::waitpid(pid, nullptr, 0);
}

/// What the child needs from its parent.
struct Outside {
  const char* uid_map;
  const char* gid_map;
  /// A descriptor of a detached copy of /usr, or -1.
  int usr;
  /// The read end of a pipe. The parent writes a byte when it has mapped ids for guests; the child
  /// then must not map its own ids. Otherwise the parent closes the pipe.
  int mapped;
};

/// Waits for the parent's map, or maps the child's own ids in the user namespace.
Trial TryIdentity(const Outside& outside) {
  char mapped = 0;
  if (::read(outside.mapped, &mapped, 1) == 1) {
    // The functions of the C library would wait for threads that this process does not have.
    if (::syscall(SYS_setresgid, 0, 0, 0) != 0) return Trial{errno};
    return FromReturn(::syscall(SYS_setresuid, 0, 0, 0));
  }
  WriteProcFile("/proc/self/setgroups", "deny");
  const Trial user = WriteProcFile("/proc/self/uid_map", outside.uid_map);
  return user.ok() ? WriteProcFile("/proc/self/gid_map", outside.gid_map) : user;
}

/// Runs in the new user namespace. `trials` is memory shared with the parent.
[[noreturn]] void TryNamespaces(NamespaceTrials& trials, const Outside& outside) {
  trials.user = {};
  trials.id_map = TryIdentity(outside);
  if (!trials.id_map.ok()) ::_exit(0);
  trials.mount = FromReturn(::unshare(CLONE_NEWNS));
  trials.pid = FromReturn(::unshare(CLONE_NEWPID));
  trials.net = FromReturn(::unshare(CLONE_NEWNET));
  trials.ipc = FromReturn(::unshare(CLONE_NEWIPC));
  trials.uts = FromReturn(::unshare(CLONE_NEWUTS));
  if (trials.uts.ok()) trials.host_name = FromReturn(::sethostname("sandbox", 7));
  if (trials.mount.ok()) TryFileSystems(trials, outside.usr);
  ::_exit(0);
}

// End of the forked child's code.

/// Makes a device node in a tmpfs that is not mounted anywhere.
Trial ProbeDevices() {
  const UniqueFd context(static_cast<int>(::syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC)));
  if (!context.valid()) return Trial{errno};
  if (::syscall(SYS_fsconfig, context.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) {
    return Trial{errno};
  }
  const UniqueFd mount(static_cast<int>(::syscall(SYS_fsmount, context.get(), FSMOUNT_CLOEXEC, 0)));
  struct stat null{};
  if (!mount.valid() || ::stat("/dev/null", &null) != 0) return Trial{errno};
  return FromReturn(::mknodat(mount.get(), "null", null.st_mode, null.st_rdev));
}

Trial ProbeSeccomp() {
  std::uint32_t action = SECCOMP_RET_KILL_PROCESS;
  return FromReturn(::syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action));
}

/// The kernel answers a call without arguments with EINVAL; a seccomp profile answers with another
/// errno.
Trial ProbeClone3() {
  ::syscall(SYS_clone3, nullptr, 0);
  return Trial{errno == EINVAL ? 0 : errno};
}

Trial ProbeLandlockCall() {
  return FromReturn(
      ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION));
}

Trial ProbeSubreaper() {
  return FromReturn(::prctl(PR_SET_CHILD_SUBREAPER, 1));
}

Trial ProbeTree() {
  return FromReturn(UniqueFd(OpenUsr()).get());
}

Trial ProbeUserNamespace() {
  const auto pid = static_cast<pid_t>(
      ::syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, nullptr, nullptr, nullptr, nullptr));
  if (pid == 0) ::_exit(0);
  const Trial trial = FromReturn(pid);
  if (pid > 0) ::waitpid(pid, nullptr, 0);
  return trial;
}

/// System calls that a filter may answer by killing the process. The filter of a polybox jail does
/// so.
enum Risk : std::uint8_t {
  kUser,
  kTree,
  kDevices,
  kSeccomp,
  kClone3,
  kLandlock,
  kSubreaper,
  kRisks
};
constexpr std::array<Trial (*)(), kRisks> kRisky = {
    ProbeUserNamespace, ProbeTree,         ProbeDevices,  ProbeSeccomp,
    ProbeClone3,        ProbeLandlockCall, ProbeSubreaper};
using RiskyTrials = std::array<Trial, kRisks>;

/// In memory shared with the child that makes the trials.
struct Progress {
  RiskyTrials trials;
  std::size_t at = 0;
};

/// Makes the trials in a forked child, and forks another child after each call that killed one.
RiskyTrials ProbeRisks() {
  RiskyTrials untried;
  untried.fill(Trial{EPERM});
  void* shared =
      ::mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return untried;
  auto* progress = new (shared) Progress{untried};
  while (progress->at < kRisks) {
    const pid_t pid = RawFork();
    if (pid < 0) break;
    if (pid == 0) {
      constexpr rlimit kNoCore{0, 0};
      ::setrlimit(RLIMIT_CORE, &kNoCore);
      for (; progress->at < kRisks; ++progress->at) {
        progress->trials.at(progress->at) = kRisky.at(progress->at)();
      }
      ::_exit(0);
    }
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
    // The call that killed the child keeps its result EPERM.
    if (progress->at < kRisks) ++progress->at;
  }
  const RiskyTrials trials = progress->trials;
  ::munmap(shared, sizeof(Progress));
  return trials;
}

/// Maps uid and gid 0 of the user namespace of `pid` to `id`, as for a slot.
bool MapTo(pid_t pid, unsigned id) {
  const std::string map = fmt::format("0 {} 1", id);
  return WriteProcFile(fmt::format("/proc/{}/uid_map", pid).c_str(), map.c_str()).ok() &&
         WriteProcFile(fmt::format("/proc/{}/gid_map", pid).c_str(), map.c_str()).ok();
}

/// `own_id` is an id for guests, if guests can have ids of their own.
NamespaceTrials ProbeNamespaces(std::optional<unsigned> own_id, const RiskyTrials& risks) {
  NamespaceTrials untried;
  for (Trial* trial : {&untried.user, &untried.id_map, &untried.mount, &untried.pid, &untried.net,
                       &untried.ipc, &untried.uts, &untried.host_name, &untried.fresh_proc,
                       &untried.tmpfs, &untried.tree_overlay}) {
    trial->error = kNotTried;
  }
  untried.user = risks[kUser];
  if (!untried.user.ok()) return untried;
  void* shared = ::mmap(nullptr, sizeof(NamespaceTrials), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return untried;
  auto* trials = new (shared) NamespaceTrials(untried);
  const std::string uid_map = fmt::format("0 {} 1", ::geteuid());
  const std::string gid_map = fmt::format("0 {} 1", ::getegid());
  const UniqueFd usr(risks[kTree].ok() ? OpenUsr() : -1);
  // The user namespace is made by clone, not by unshare(). unshare() refuses a process with a
  // second thread, and a sanitizer gives a forked child one.
  std::array<int, 2> ends{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return untried;
  UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  const auto pid = static_cast<pid_t>(
      ::syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, nullptr, nullptr, nullptr, nullptr));
  if (pid == 0) {
    ::close(write_end.get());
    TryNamespaces(*trials, {uid_map.c_str(), gid_map.c_str(), usr.get(), read_end.get()});
  }
  const bool mapped = pid > 0 && own_id && MapTo(pid, *own_id);
  if (mapped) (void)!::write(write_end.get(), "m", 1);
  write_end.reset();
  if (pid > 0) {
    ::waitpid(pid, nullptr, 0);
  } else {
    trials->user.error = errno;
  }
  const NamespaceTrials result = *trials;
  ::munmap(shared, sizeof(NamespaceTrials));
  return result;
}

/// Capabilities for guests with other uids: polybox gives such guests their directories, reads and
/// removes their files, kills them and takes their uid.
constexpr std::pair<int, const char*> kOverOtherUids[] = {{CAP_CHOWN, "CAP_CHOWN"},
                                                          {CAP_DAC_OVERRIDE, "CAP_DAC_OVERRIDE"},
                                                          {CAP_KILL, "CAP_KILL"},
                                                          {CAP_SETGID, "CAP_SETGID"},
                                                          {CAP_SETUID, "CAP_SETUID"}};

std::vector<std::string> MissingOverOtherUids() {
  std::vector<std::string> missing;
  for (const auto& [number, name] : kOverOtherUids) {
    if (!HasCapability(number)) missing.emplace_back(name);
  }
  return missing;
}

/// In a child process: gives a file to a uid for guests, then becomes that uid.
Trial TryToBecome(unsigned id) {
  const UniqueFd file(::memfd_create("polybox-probe", MFD_CLOEXEC));
  if (!file.valid()) return Trial{errno};
  const pid_t pid = RawFork();
  if (pid == 0) {
    const bool became =
        ::fchown(file.get(), id, id) == 0 && ::syscall(SYS_setgroups, 0, nullptr) == 0 &&
        ::syscall(SYS_setresgid, id, id, id) == 0 && ::syscall(SYS_setresuid, id, id, id) == 0;
    ::_exit(became ? 0 : errno);
  }
  int status = 0;
  while (pid > 0 && ::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (pid < 0) return Trial{EAGAIN};
  return Trial{WIFEXITED(status) ? WEXITSTATUS(status) : EINTR};
}

std::uint64_t CountUids() {
  std::uint64_t count = 0;
  for (const IdRange& range : OwnIds("uid_map")) count += range.count;
  return count;
}

int ProbeLandlock() {
  const long abi =
      ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return abi < 0 ? 0 : static_cast<int>(abi);
}

/// The result of making a cgroup below the server's own and removing it again, and the controllers
/// that it had.
struct CgroupTrial {
  Trial trial;
  std::string controllers;
};

CgroupTrial TryCgroup(const CgroupHierarchy& hierarchy) {
  const std::string directory =
      fmt::format("{}/polybox-probe-{}", hierarchy.own_directory, ::getpid());
  if (::mkdir(directory.c_str(), 0700) != 0) return {Trial{errno}, ""};
  CgroupTrial result;
  result.controllers = " " + ReadFile(directory + "/cgroup.controllers").value_or("") + " ";
  std::ranges::replace(result.controllers, '\n', ' ');
  result.trial = FromReturn(::rmdir(directory.c_str()));
  return result;
}

/// Whether the server's v2 cgroup could pass its controllers on. A new cgroup has only the
/// controllers that its parent passes on, and the parent may only do so while it holds no process.
bool CouldPassOn(const CgroupHierarchy& hierarchy) {
  const std::string processes = ReadFile(hierarchy.own_directory + "/cgroup.procs").value_or("");
  const bool alone = processes == fmt::format("{}\n", ::getpid());
  const bool is_root = ::access((hierarchy.own_directory + "/cgroup.type").c_str(), F_OK) != 0;
  return alone || is_root;
}

/// Returns why a cgroup of polybox could not use `controller`; "" when it could.
std::string Refusal(const CgroupHierarchy& hierarchy, const CgroupTrial& trial,
                    const std::string& controller) {
  if (!trial.trial.ok()) return std::generic_category().message(trial.trial.error);
  if (hierarchy.version == CgroupVersion::kV1) return "";
  if (trial.controllers.find(" " + controller + " ") != std::string::npos) return "";
  if (CouldPassOn(hierarchy)) return "";
  return "not passed on by our cgroup, which other processes share";
}

CgroupFacts ProbeCgroups() {
  CgroupFacts facts;
  facts.hierarchies = ReadCgroups();
  std::set<std::string> writable;
  for (const CgroupHierarchy& hierarchy : facts.hierarchies) {
    // A named hierarchy (name=systemd) has no controller.
    if (hierarchy.controllers.empty() || hierarchy.controllers[0].find('=') != std::string::npos) {
      continue;
    }
    const CgroupTrial trial = TryCgroup(hierarchy);
    for (const std::string& controller : hierarchy.controllers) {
      std::string refusal = Refusal(hierarchy, trial, controller);
      if (refusal.empty()) {
        writable.insert(controller);
      } else {
        facts.refused[controller] = std::move(refusal);
      }
    }
  }
  facts.writable.assign(writable.begin(), writable.end());
  return facts;
}

}  // namespace

HostFacts ProbeHost() {
  HostFacts facts;
  utsname name{};
  if (::uname(&name) == 0) facts.kernel = name.release;
  facts.root = ::geteuid() == 0;
  facts.uids = CountUids();
  const std::optional<GuestIds> ids = IdsForGuests();
  facts.missing_capabilities = MissingOverOtherUids();
  facts.own_uids = !facts.root || !facts.missing_capabilities.empty() ? Trial{EPERM}
                   : ids                                              ? TryToBecome(ids->owner)
                                                                      : Trial{ERANGE};
  const RiskyTrials risks = ProbeRisks();
  facts.namespaces =
      ProbeNamespaces(facts.own_uids.ok() ? std::optional(ids->owner) : std::nullopt, risks);
  facts.devices = risks[kDevices];
  facts.seccomp = risks[kSeccomp];
  facts.clone3 = risks[kClone3];
  const std::string temporary = TemporaryDirectory();
  if (!temporary.empty() && !MayExecuteIn(temporary)) facts.noexec_directory = temporary;
  facts.subreaper = risks[kSubreaper];
  facts.landlock_abi = risks[kLandlock].ok() ? ProbeLandlock() : 0;
  facts.cgroups = ProbeCgroups();
  return facts;
}

}  // namespace polybox::sys
