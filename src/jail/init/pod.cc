#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <unistd.h>

#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "jail/init/slot.h"

namespace polybox::jail::init {
namespace {

// World-readable, tells about the host, and no program needs it: bound over with an empty file or
// directory. What only the host's root may read (kcore, kmsg, timer_list, sysrq-trigger, ...) is
// closed anyway: that root has no uid in here.
struct Mask {
  const char* path;
  const char* cover;
};
constexpr const char* kNoFile = "/.empty";
constexpr const char* kNoDirectory = "/.kept";
constexpr Mask kMasked[] = {
    {"/proc/keys", kNoFile},
    {"/proc/key-users", kNoFile},
    {"/proc/kallsyms", kNoFile},
    {"/proc/config.gz", kNoFile},
    {"/proc/cmdline", kNoFile},
    {"/proc/interrupts", kNoFile},
    {"/proc/diskstats", kNoFile},
    {"/proc/partitions", kNoFile},
    {"/proc/bus", kNoDirectory},
    {"/proc/pressure", kNoDirectory},
    {"/proc/sys/kernel/random/boot_id", kNoFile},
};

int MountProc() {
  if (::mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) != 0)
    return errno;
  for (const auto& [path, cover] : kMasked) {
    if (::mount(cover, path, nullptr, MS_BIND, nullptr) != 0 && errno != ENOENT) return errno;
  }
  return 0;
}

int ClearCapabilitySets() {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};
  return ::syscall(SYS_capset, &header, data) == 0 ? 0 : errno;
}

/// Of all capabilities the one to read and enter what its uid may not: what that reaches is
/// Landlock's business.
int KeepReading() {
  constexpr std::uint32_t kBit = 1U << CAP_DAC_READ_SEARCH;
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{kBit, kBit, kBit}, {}};
  if (::syscall(SYS_capset, &header, data) != 0) return errno;
  return ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_DAC_READ_SEARCH, 0, 0) == 0 ? 0 : errno;
}

int BecomeGuest(const Guest& guest) {
  const auto [uid, gid] = guest_ids;
  // Where the guest's uid is the only one there is, these change nothing and are refused without
  // harm.
  if (::getuid() != uid) {
    if (guest.closed_trees) {
      // Without it access(2), which gcc asks, would answer as if there were no capability.
      ::prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED);
      ::prctl(PR_SET_KEEPCAPS, 1);
    }
    if (::setgroups(0, nullptr) != 0) return errno;
    if (::setresgid(gid, gid, gid) != 0) return errno;
    if (::setresuid(uid, uid, uid) != 0) return errno;
  }
  if (const int error = guest.closed_trees ? KeepReading() : ClearCapabilitySets()) return error;
  // A change of identity has cleared it; in a PID namespace the pod's end is enough.
  if (!guest.in_namespaces) ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 ? 0 : errno;
}

int InstallFilter(const std::string& seccomp) {
  sock_fprog program = {
      static_cast<unsigned short>(seccomp.size() / sizeof(sock_filter)),
      reinterpret_cast<sock_filter*>(const_cast<char*>(seccomp.data())),
  };
  if (program.len == 0) return 0;
  return ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0 ? 0 : errno;
}

void ResetSignals() {
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

/// One CPU, the one we are on: the scheduler has just chosen it.
int StayOnOneCpu() {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<unsigned>(::sched_getcpu()), &set);
  return ::sched_setaffinity(0, sizeof set, &set) == 0 ? 0 : errno;
}

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (const std::string& text : strings) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

/// Where guests have our own uid, the kernel counts what else this user runs with them.
std::uint64_t LimitFor(const ResourceLimit& limit, const Guest& guest) {
  if (limit.resource != RLIMIT_NPROC || guest.tasks_beside == 0) return limit.value;
  rlimit64 now{};
  ::getrlimit64(RLIMIT_NPROC, &now);
  return std::min(limit.value + guest.tasks_beside, static_cast<std::uint64_t>(now.rlim_max));
}

/// All that happens between fork and exec; returns only on failure.
Failed BecomeProgram(const Run& run, const std::vector<int>& fds, const Guest& guest) {
  const auto fail = [](Stage stage, int index = -1) { return Failed{stage, errno, index}; };
  ::setsid();
  for (std::uint32_t i = 0; i < run.join_count; ++i) {
    if (::write(fds[3 + i], "0", 1) != 1) return fail(Stage::kCgroup, static_cast<int>(i));
  }
  // From here on its cgroups are the root of what it sees of them.
  if (guest.in_namespaces && ::unshare(CLONE_NEWCGROUP) != 0) return fail(Stage::kCgroup);
  for (int i = 0; i < 3; ++i) {
    if (::dup2(fds[static_cast<std::size_t>(i)], i) < 0) return fail(Stage::kStdio, i);
  }
  if (::chdir(run.directory.c_str()) != 0) return fail(Stage::kDirectory);
  ::setpriority(PRIO_PROCESS, 0, 19);
  if (run.one_cpu) {
    if (const int error = StayOnOneCpu()) return {Stage::kLimits, error, -1};
  }
  for (std::size_t i = 0; i < run.limits.size(); ++i) {
    const std::uint64_t value = LimitFor(run.limits[i], guest);
    const rlimit64 limit = {value, value};
    if (::setrlimit64(static_cast<__rlimit_resource>(run.limits[i].resource), &limit) != 0) {
      return fail(Stage::kLimits, static_cast<int>(i));
    }
  }
  ResetSignals();
  ::umask(022);
  ::syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC);
  const std::vector<char*> argv = Pointers(run.argv);
  const std::vector<char*> env = Pointers(run.env);
  if (const int error = BecomeGuest(guest)) return {Stage::kDrop, error, -1};
  if (guest.ruleset >= 0 && ::syscall(SYS_landlock_restrict_self, guest.ruleset, 0) != 0) {
    return fail(Stage::kLandlock);
  }
  if (const int error = InstallFilter(guest.seccomp)) return {Stage::kSeccomp, error, -1};
  ::execve(argv[0], argv.data(), env.data());
  return fail(Stage::kExec);
}

std::uint64_t Nanoseconds(const timeval& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(time.tv_usec) * 1000U;
}

// What a terminal sends, and what asks a program to end.
constexpr int kPassedOn[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

volatile pid_t guest_pid = -1;

void PassOn(int signal) {
  if (guest_pid > 0) ::kill(guest_pid, signal);
}

/// PID 1 of the pod after the guest has started: reaps, and says how the guest ended.
[[noreturn]] void ReapUntilGuestEnds(pid_t guest, int socket) {
  int status = 0;
  pid_t ended = -1;
  do {
    ended = ::waitpid(-1, &status, 0);
  } while (ended != guest && (ended > 0 || errno == EINTR));
  Ended message;
  rusage usage{};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  message.user_nanoseconds = Nanoseconds(usage.ru_utime);
  message.system_nanoseconds = Nanoseconds(usage.ru_stime);
  message.largest_resident_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024U;
  if (WIFSIGNALED(status)) {
    message.kind = EndKind::kSignalled;
    message.signal = WTERMSIG(status);
  } else {
    message.exit_code = WEXITSTATUS(status);
  }
  Send(socket, Encode(message));
  ::_exit(0);
}

/// fork(), into the cgroup whose directory is open at `cgroup` (borrowed) unless that is -1.
pid_t ForkInto(int cgroup) {
  if (cgroup < 0) return ::fork();
  clone_args args{};
  args.flags = CLONE_INTO_CGROUP;
  args.exit_signal = SIGCHLD;
  args.cgroup = static_cast<std::uint64_t>(cgroup);
  return static_cast<pid_t>(::syscall(SYS_clone3, &args, sizeof args));
}

}  // namespace

[[noreturn]] void RunGuest(const Received& received, int socket, const Guest& settings) {
  Run run;
  if (!Decode(received.bytes, run) || received.fds.size() < 3 + run.join_count + run.clone_into) {
    Send(socket, Encode(Failed{Stage::kMessage, EBADMSG, -1}));
    ::_exit(0);
  }
  int failure[2];
  if (::pipe2(failure, O_CLOEXEC) != 0) ::_exit(0);
  for (const int signal : kPassedOn) ::signal(signal, PassOn);
  const pid_t guest = ForkInto(run.clone_into ? received.fds[3 + run.join_count] : -1);
  const int fork_error = errno;
  guest_pid = guest;
  if (guest == 0) {
    const Failed failed = BecomeProgram(run, received.fds, settings);
    const ssize_t ignored = ::write(failure[1], &failed, sizeof failed);
    (void)ignored;
    ::_exit(127);
  }
  ::close(failure[1]);
  for (const int fd : received.fds) ::close(fd);
  Failed failed;
  if (guest < 0) {
    Send(socket, Encode(Failed{run.clone_into ? Stage::kCgroup : Stage::kPod, fork_error, -1}));
    ::_exit(0);
  }
  if (::read(failure[0], &failed, sizeof failed) == sizeof failed) {
    Send(socket, Encode(failed));
    ::_exit(0);
  }
  ::close(failure[0]);
  ReapUntilGuestEnds(guest, socket);
}

namespace {

/// The pod's PID 1, from its first instruction. Reports that it is ready, then waits for its one
/// guest.
[[noreturn]] void PodInit(int inherited, const std::string& seccomp) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::prctl(PR_SET_NAME, "polybox-pod");
  // Where guests have our uid, they may not look into us.
  ::prctl(PR_SET_DUMPABLE, 0);
  // The way to the server and the host's trees stay behind: a guest's init has no business there.
  constexpr int kSocket = 3;
  ::dup3(inherited, kSocket, O_CLOEXEC);
  ::syscall(SYS_close_range, kSocket + 1U, ~0U, 0U);
  const int socket = kSocket;
  if (const int error = MountProc()) {
    Send(socket, Encode(Failed{Stage::kPod, error, -1}));
    ::_exit(0);
  }
  Send(socket, Encode(MessageKind::kDone));
  Received received;
  if (!Receive(socket, received)) ::_exit(0);
  RunGuest(received, socket, {.seccomp = seccomp});
}

}  // namespace

StepResult MakePod(const std::string& seccomp, Pod& pod) {
  int sockets[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0) {
    return StepResult::Failure(Stage::kPod, errno);
  }
  int pidfd = -1;
  clone_args args{};
  args.flags = CLONE_NEWPID | CLONE_NEWIPC | CLONE_PIDFD;
  args.pidfd = reinterpret_cast<std::uint64_t>(&pidfd);
  args.exit_signal = SIGCHLD;
  const long pid = ::syscall(SYS_clone3, &args, sizeof args);
  if (pid == 0) {
    PodInit(sockets[1], seccomp);
  }
  const int error = errno;
  ::close(sockets[1]);
  if (pid < 0) {
    ::close(sockets[0]);
    return StepResult::Failure(Stage::kPod, error);
  }
  pod = {static_cast<pid_t>(pid), pidfd, sockets[0]};
  Received ready;
  if (Receive(pod.socket, ready) && KindOf(ready.bytes) == MessageKind::kDone) return {};
  StepResult result = StepResult::Failure(Stage::kPod, EPROTO);
  if (!ready.bytes.empty()) Decode(ready.bytes, result.failed);
  EndPod(pod, nullptr);
  return result;
}

void EndPod(Pod& pod, Ended* ended) {
  if (!pod.exists()) return;
  ::kill(pod.pid, SIGKILL);
  rusage usage{};
  int status = 0;
  while (::wait4(pod.pid, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  if (ended != nullptr) {
    ended->user_nanoseconds = Nanoseconds(usage.ru_utime);
    ended->system_nanoseconds = Nanoseconds(usage.ru_stime);
    ended->largest_resident_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024U;
  }
  ::close(pod.pidfd);
  ::close(pod.socket);
  ::umount2("/proc", MNT_DETACH);
  pod = {};
}

}  // namespace polybox::jail::init
