#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <unistd.h>

#include <linux/sched.h>
#include <sys/eventfd.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "jail/init/last_word.h"
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

std::uint64_t Nanoseconds(const timeval& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(time.tv_usec) * 1000U;
}

Ended FromUsage(const rusage& usage, int status) {
  return {.status = status,
          .user_nanoseconds = Nanoseconds(usage.ru_utime),
          .system_nanoseconds = Nanoseconds(usage.ru_stime),
          .largest_resident_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024U};
}

// What a terminal sends, and what asks a program to end.
constexpr int kPassedOn[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

// A fork takes a millisecond. What takes this long on the busiest machine will never come.
constexpr int kMostForFork = 10'000;
// And this much from the pod's first instruction until its guest waits.
constexpr timeval kMostForPod = {20, 0};

volatile pid_t guest_pid = -1;

void PassOn(int signal) {
  if (guest_pid > 0) ::kill(guest_pid, signal);
}

LastWord last_word;

void Wake(int /*signal*/) {
  last_word.Interrupt();
}

/// How a guest ended, as waitpid() says it. One that says that it is about to end has ended.
int AwaitGuest() {
  int status = 0;
  while (true) {
    const pid_t ended = ::waitpid(-1, &status, last_word.exists() ? WNOHANG : 0);
    if (ended == guest_pid || (ended < 0 && errno != EINTR)) return status;
    if (ended != 0) continue;
    if (const std::optional<int> code = last_word.Heard()) {
      ::kill(-1, SIGKILL);
      return W_EXITCODE(*code, 0);
    }
    last_word.Await();
  }
}

/// Whether the guest has taken its program, which only a warm one says; and what it had used before
/// is not the program's.
void LookAtStart(int started, Ended& ended) {
  std::uint64_t word = 0;
  ended.started = started < 0 || ::read(started, &word, sizeof word) == sizeof word;
  if (word == 0) return;
  const UsedBefore before = UnpackUsedBefore(word);
  ended.user_nanoseconds -= std::min(ended.user_nanoseconds, before.user_nanoseconds);
  ended.system_nanoseconds -= std::min(ended.system_nanoseconds, before.system_nanoseconds);
}

volatile sig_atomic_t stopped = 0;

void KillAll(int /*signal*/) {
  if (::getpid() != 1) return;  // all would be all of the host
  stopped = 1;
  ::kill(-1, SIGKILL);
}

/// PID 1 of the pod from here on: reaps, and says how the guest ended. All that is left in the pod
/// ends with it.
[[noreturn]] void ReapUntilGuestEnds(int socket, int started) {
  const int status = AwaitGuest();
  while (stopped != 0 && (::waitpid(-1, nullptr, 0) > 0 || errno == EINTR)) {
  }
  rusage usage{};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  Ended said = FromUsage(usage, status);
  LookAtStart(started, said);
  Send(socket, Encode(said));
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

/// Lets the zygote fork the guest, which is PID 2 then as any other. 0 or errno.
int ForkFromZygote(int socket, const WarmFds& warm, const PodOptions& options) {
  int release[2];
  if (::pipe2(release, O_CLOEXEC) != 0) return errno;
  const int pids = ::open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);
  const int ipc = ::open("/proc/self/ns/ipc", O_RDONLY | O_CLOEXEC);
  const int net = ::open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
  std::vector<int> fds = {socket, pids, ipc, net, warm.started, warm.word, release[1]};
  fds.insert(fds.end(), options.cgroups.begin(), options.cgroups.end());
  const bool asked =
      Send(options.zygote, Encode(Fork{options.next.join_count, options.next.clone_into}), fds);
  for (const int fd : {pids, ipc, net, release[1]}) ::close(fd);
  // Until the guest is there, and ours to wait for. A zygote that does not answer is given up.
  pollfd closed = {release[0], POLLIN, 0};
  int heard = 0;
  while (asked && (heard = ::poll(&closed, 1, kMostForFork)) < 0 && errno == EINTR) {
  }
  ::close(release[0]);
  if (asked && heard == 0) return ETIMEDOUT;
  guest_pid = 2;
  return asked && ::kill(guest_pid, 0) == 0 ? 0 : ESRCH;
}

/// Makes the process that waits for its program; in that process it does not return. 0 or errno.
int MakeGuest(int socket, const WarmFds& warm, const PodOptions& options) {
  if (options.zygote >= 0) return ForkFromZygote(socket, warm, options);
  const bool clone_into = options.next.clone_into;
  guest_pid = ForkInto(clone_into ? options.cgroups[options.next.join_count] : -1);
  if (guest_pid == 0) WaitAsGuest(socket, options, warm);
  return guest_pid < 0 ? errno : 0;
}

WarmFds MakeWarmFds() {
  return {::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), LastWord::Make()};
}

bool HasCgroup(const NextPod& next) {
  return next.join_count > 0 || next.clone_into;
}

void ListenTo(int word) {
  struct sigaction wake{};
  wake.sa_handler = Wake;
  if (last_word.Map(word)) ::sigaction(SIGCHLD, &wake, nullptr);
}

/// The pod's PID 1, from its first instruction.
[[noreturn]] void PodInit(int inherited, const PodOptions& options) {
  constexpr int kSocket = 3;
  const auto give_up = [](Stage stage, int error) {
    Send(kSocket, Encode(Failed{stage, error, -1}));
    ::_exit(0);
  };
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::prctl(PR_SET_NAME, "polybox-pod");
  // Where guests have our uid, they may not look into us.
  ::prctl(PR_SET_DUMPABLE, 0);
  // In place of the way to the server.
  ::dup3(inherited, kSocket, O_CLOEXEC);
  const bool warm = options.warm != nullptr || options.zygote >= 0;
  const WarmFds fds = warm ? MakeWarmFds() : WarmFds();
  if (warm && (fds.started < 0 || fds.word < 0)) give_up(Stage::kPod, errno);
  // Without a cgroup what a guest has used is known only when the kernel has told of its end.
  if (warm && HasCgroup(options.next)) ListenTo(fds.word);
  if (options.in_namespaces) {
    if (const int error = MountProc()) give_up(Stage::kPod, error);
  } else {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  }
  if (const int error = MakeGuest(kSocket, fds, options)) {
    give_up(options.next.clone_into ? Stage::kCgroup : Stage::kPod, error);
  }
  // The guest's cgroups and the host's trees are no business of its init.
  constexpr int kStarted = kSocket + 1;
  if (warm) ::dup2(fds.started, kStarted);
  ::syscall(SYS_close_range, warm ? kStarted + 1U : kSocket + 1U, ~0U, 0U);
  for (const int signal : kPassedOn) ::signal(signal, PassOn);
  if (options.in_namespaces) ::signal(kKillAll, KillAll);
  ReapUntilGuestEnds(kSocket, warm ? kStarted : -1);
}

}  // namespace

StepResult MakePod(const PodOptions& options, Pod& pod) {
  int sockets[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0) {
    return StepResult::Failure(Stage::kPod, errno);
  }
  int pidfd = -1;
  clone_args args{};
  args.flags = CLONE_PIDFD | (options.in_namespaces ? CLONE_NEWPID | CLONE_NEWIPC : 0U);
  args.pidfd = reinterpret_cast<std::uint64_t>(&pidfd);
  args.exit_signal = SIGCHLD;
  // The kernel then says who sent a message, by the number that we know it by.
  const int on = 1;
  ::setsockopt(sockets[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
  // Whoever has this end later reads when there is something, and so does not wait.
  ::setsockopt(sockets[0], SOL_SOCKET, SO_RCVTIMEO, &kMostForPod, sizeof kMostForPod);
  const long pid = ::syscall(SYS_clone3, &args, sizeof args);
  if (pid == 0) PodInit(sockets[1], options);
  const int error = errno;
  ::close(sockets[1]);
  if (pid < 0) {
    ::close(sockets[0]);
    return StepResult::Failure(Stage::kPod, error);
  }
  pod = {static_cast<pid_t>(pid), -1, pidfd, sockets[0],
         options.warm != nullptr || options.zygote >= 0};
  Received ready;
  if (Receive(pod.socket, ready) && KindOf(ready.bytes) == MessageKind::kDone) {
    pod.guest = ready.sender;
    return {};
  }
  StepResult result = StepResult::Failure(Stage::kPod, EPROTO);
  if (!ready.bytes.empty()) Decode(ready.bytes, result.failed);
  if (options.in_namespaces) EndPod(pod);
  return result;
}

Ended EndPod(Pod& pod) {
  if (!pod.exists()) return {};
  ::kill(pod.pid, SIGKILL);
  rusage usage{};
  int status = 0;
  while (::wait4(pod.pid, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  ::close(pod.pidfd);
  ::close(pod.socket);
  ::umount2("/proc", MNT_DETACH);
  pod = {};
  return FromUsage(usage, status);
}

}  // namespace polybox::jail::init
