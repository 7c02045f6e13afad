#include "sys/host_facts.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <new>
#include <sched.h>
#include <set>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>
#include <linux/landlock.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include "base/files.h"
#include "base/unique_fd.h"

namespace polybox::sys {
namespace {

/// Not tried, because a trial it needs failed first.
constexpr int kNotTried = ENOTSUP;

Trial FromReturn(long result) {
  return Trial{result < 0 ? errno : 0};
}

// From here to the next mark: async-signal-safe calls only, for they run in a forked child.

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

/// `usr` is a detached copy of /usr that root has made outside of the namespaces, else -1.
Trial TryTreeOverlay(int usr) {
  ::mkdir("/tmp/usr", 0700);
  const long placed =
      usr >= 0 ? ::syscall(SYS_move_mount, usr, "", AT_FDCWD, "/tmp/usr", MOVE_MOUNT_F_EMPTY_PATH)
               : ::mount("/usr", "/tmp/usr", nullptr, MS_BIND | MS_REC, nullptr);
  if (placed != 0) return Trial{errno};
  return TryMount("overlay", "/tmp/tree", "lowerdir=/tmp/lower:/tmp/usr,userxattr");
}

/// In the new mount namespace: every mount here is gone with it.
void TryFileSystems(NamespaceTrials& trials, int usr) {
  ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
  trials.tmpfs = FromReturn(::mount("polybox", "/tmp", "tmpfs", 0, "size=1m"));
  if (!trials.tmpfs.ok()) return;
  ::mkdir("/tmp/lower", 0700);
  ::mkdir("/tmp/upper", 0700);
  ::mkdir("/tmp/work", 0700);
  trials.overlayfs = TryMount("overlay", "/tmp/merged",
                              "lowerdir=/tmp/lower,upperdir=/tmp/upper,workdir=/tmp/work");
  trials.tree_overlay = TryTreeOverlay(usr);
  if (!trials.pid.ok()) return;
  const pid_t pid = ::fork();  // the first child is the new PID namespace's init
  if (pid == 0) {
    trials.fresh_proc = TryMount("proc", "/tmp/proc", nullptr);
    ::_exit(0);
  }
  if (pid > 0) ::waitpid(pid, nullptr, 0);
}

/// In the new user namespace; `trials` is shared with the parent.
[[noreturn]] void TryNamespaces(NamespaceTrials& trials, const char* uid_map, const char* gid_map,
                                int usr) {
  WriteProcFile("/proc/self/setgroups", "deny");
  trials.user = WriteProcFile("/proc/self/uid_map", uid_map);
  if (trials.user.ok()) trials.user = WriteProcFile("/proc/self/gid_map", gid_map);
  if (!trials.user.ok()) ::_exit(0);
  trials.mount = FromReturn(::unshare(CLONE_NEWNS));
  trials.pid = FromReturn(::unshare(CLONE_NEWPID));
  trials.net = FromReturn(::unshare(CLONE_NEWNET));
  trials.ipc = FromReturn(::unshare(CLONE_NEWIPC));
  trials.uts = FromReturn(::unshare(CLONE_NEWUTS));
  if (trials.mount.ok()) TryFileSystems(trials, usr);
  ::_exit(0);
}

// End of the forked child's code.

NamespaceTrials ProbeNamespaces() {
  NamespaceTrials untried;
  for (Trial* trial :
       {&untried.user, &untried.mount, &untried.pid, &untried.net, &untried.ipc, &untried.uts,
        &untried.fresh_proc, &untried.tmpfs, &untried.overlayfs, &untried.tree_overlay}) {
    trial->error = kNotTried;
  }
  void* shared = ::mmap(nullptr, sizeof(NamespaceTrials), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return untried;
  auto* trials = new (shared) NamespaceTrials(untried);
  const std::string uid_map = fmt::format("0 {} 1", ::geteuid());
  const std::string gid_map = fmt::format("0 {} 1", ::getegid());
  const UniqueFd usr(static_cast<int>(
      ::syscall(SYS_open_tree, AT_FDCWD, "/usr", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC)));
  // Made with the process: unshare() refuses whoever has a second thread, and a sanitizer gives a
  // forked child one.
  clone_args args{};
  args.flags = CLONE_NEWUSER;
  args.exit_signal = SIGCHLD;
  const auto pid = static_cast<pid_t>(::syscall(SYS_clone3, &args, sizeof args));
  if (pid == 0) TryNamespaces(*trials, uid_map.c_str(), gid_map.c_str(), usr.get());
  if (pid > 0) {
    ::waitpid(pid, nullptr, 0);
  } else {
    trials->user.error = errno;
  }
  const NamespaceTrials result = *trials;
  ::munmap(shared, sizeof(NamespaceTrials));
  return result;
}

/// In a file system that is mounted nowhere.
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

int ProbeLandlock() {
  const long abi =
      ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return abi < 0 ? 0 : static_cast<int>(abi);
}

/// Makes a cgroup below our own and removes it at once; reads which controllers it had.
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

/// On v2 a new cgroup has only the controllers that its parent passes on, and the parent can only
/// be told to while it holds no processes itself.
bool CouldPassOn(const CgroupHierarchy& hierarchy) {
  const std::string processes = ReadFile(hierarchy.own_directory + "/cgroup.procs").value_or("");
  const bool alone = processes == fmt::format("{}\n", ::getpid());
  const bool is_root = ::access((hierarchy.own_directory + "/cgroup.type").c_str(), F_OK) != 0;
  return alone || is_root;
}

/// Why a cgroup of ours could not use `controller`; "" when it could.
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
  facts.namespaces = ProbeNamespaces();
  facts.devices = ProbeDevices();
  facts.seccomp = ProbeSeccomp();
  facts.landlock_abi = ProbeLandlock();
  facts.cgroups = ProbeCgroups();
  return facts;
}

}  // namespace polybox::sys
