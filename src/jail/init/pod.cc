#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <optional>
#include <poll.h>
#include <sched.h>
#include <span>
#include <unistd.h>
#include <utility>

#include <linux/sched.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "jail/init/last_word.h"
#include "jail/init/raw.h"
#include "jail/init/raw_messages.h"
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
// The kernel shows the keys of those users that the reader's namespace knows. Where these are ours
// alone, there are none: guests may not make any.
constexpr Mask kMaskedWhereUsersAreShared[] = {
    {"/proc/keys", kNoFile},
    {"/proc/key-users", kNoFile},
};

// From here to MakePod() all is raw: a pod's init shares the memory of its slot init.
int Cover(std::span<const Mask> masks) {
  for (const auto& [path, cover] : masks) {
    const long covered = Raw(SYS_mount, cover, path, nullptr, MS_BIND, nullptr);
    if (covered < 0 && covered != -ENOENT) return static_cast<int>(-covered);
  }
  return 0;
}

int MountProc() {
  const long mounted =
      Raw(SYS_mount, "proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr);
  if (mounted < 0) return static_cast<int>(-mounted);
  if (const int error = Cover(kMasked)) return error;
  // Without root of our own, the guest has the uid of whoever started us.
  const bool shares_users = Raw(SYS_getuid) == guest_ids.uid;
  return shares_users ? Cover(kMaskedWhereUsersAreShared) : 0;
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
constexpr timespec kMostForFork = {10, 0};
// And this much from the pod's first instruction until its guest waits.
constexpr timeval kMostForPod = {20, 0};

// Of the one pod that there is; its init's own while it runs.
volatile pid_t guest_pid = -1;
volatile sig_atomic_t stopped = 0;
LastWord last_word;

void PassOn(int signal) {
  if (guest_pid > 0) Raw(SYS_kill, guest_pid, signal);
}

void Wake(int /*signal*/) {
  last_word.Interrupt();
}

void KillAll(int /*signal*/) {
  if (Raw(SYS_getpid) != 1) return;  // all would be all of the host
  stopped = 1;
  Raw(SYS_kill, -1, SIGKILL);
}

/// What sigaction() does cannot fail here, so that it leaves errno alone.
void Handle(int signal, void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  ::sigaction(signal, &action, nullptr);
}

/// How a guest ended, as waitpid() says it. One that says that it is about to end has ended.
int AwaitGuest() {
  int status = 0;
  while (true) {
    const long ended = Raw(SYS_wait4, -1, &status, last_word.exists() ? WNOHANG : 0, nullptr);
    if (ended == guest_pid || (ended < 0 && ended != -EINTR)) return status;
    if (ended != 0) continue;
    if (const std::optional<int> code = last_word.Heard()) return W_EXITCODE(*code, 0);
    last_word.Await();
  }
}

/// Whether the guest has taken its program, which only a warm one says; and what it had used before
/// is not the program's.
void LookAtStart(int started, Ended& ended) {
  std::uint64_t word = 0;
  ended.started = started < 0 || Raw(SYS_read, started, &word, sizeof word) == sizeof word;
  if (word == 0) return;
  const UsedBefore before = UnpackUsedBefore(word);
  ended.user_nanoseconds -= std::min(ended.user_nanoseconds, before.user_nanoseconds);
  ended.system_nanoseconds -= std::min(ended.system_nanoseconds, before.system_nanoseconds);
}

/// Reaps, and says how the guest ended. All that is left in the pod ends with its init.
void ReapUntilGuestEnds(int socket, int started) {
  const int status = AwaitGuest();
  long reaped = stopped != 0 ? 1 : 0;
  while (reaped > 0 || reaped == -EINTR) reaped = Raw(SYS_wait4, -1, nullptr, 0, nullptr);
  rusage usage{};
  Raw(SYS_getrusage, RUSAGE_CHILDREN, &usage);
  Ended said = FromUsage(usage, status);
  LookAtStart(started, said);
  SendRaw(socket, Encode(said));
}

/// What a pod's init is born with, on the stack of its slot init.
struct PodStart {
  int socket;
  WarmFds warm;
  PodOptions options;
};

constexpr int kSocket = 3;

/// For a process that shares our memory: what would run over its end meets a page that is closed.
struct Stack {
  static constexpr std::size_t kPage = 4096;
  alignas(kPage) std::array<char, kPage> end;
  std::array<char, 16 * kPage> room;
};
Stack pod_stack;
Stack guest_stack;

bool CloseEnds() {
  return ::mprotect(pod_stack.end.data(), Stack::kPage, PROT_NONE) == 0 &&
         ::mprotect(guest_stack.end.data(), Stack::kPage, PROT_NONE) == 0;
}

void GuestMain(void* given) {
  const PodStart& start = *static_cast<const PodStart*>(given);
  WaitAsGuest(kSocket, start.options, start.warm);
}

/// Lets the zygote fork the guest, which is PID 2 then as any other. 0 or errno.
int ForkFromZygote(const PodStart& start) {
  int release[2] = {-1, -1};
  if (const long made = Raw(SYS_pipe2, release, O_CLOEXEC); made < 0) {
    return static_cast<int>(-made);
  }
  const auto open = [](const char* path) {
    return static_cast<int>(Raw(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0));
  };
  std::array<int, kMostDescriptors> fds{};
  fds[kForkSocket] = kSocket;
  fds[kForkPids] = open("/proc/self/ns/pid");
  fds[kForkStarted] = start.warm.started;
  fds[kForkWord] = start.warm.word;
  fds[kForkRelease] = release[1];
  std::size_t count = kForkDescriptors;
  if (start.options.zygote_moves) {
    fds[count++] = open("/proc/self/ns/ipc");
    fds[count++] = open("/proc/self/ns/net");
  }
  const std::span<const int> namespaces =
      std::span<const int>(fds).subspan(kForkDescriptors, count - kForkDescriptors);
  const std::vector<int>& cgroups = start.options.cgroups;
  std::ranges::copy(cgroups, fds.begin() + count);
  const NextPod& next = start.options.next;
  const Fork fork = {next.join_count, next.clone_into, start.options.zygote_moves};
  const bool asked = SendRaw(start.options.zygote, Encode(fork),
                             std::span<const int>(fds).first(count + cgroups.size()));
  for (const int fd : {fds[kForkPids], release[1]}) Raw(SYS_close, fd);
  for (const int fd : namespaces) Raw(SYS_close, fd);
  // Until the guest is there, and ours to wait for. A zygote that does not answer is given up.
  pollfd closed = {release[0], POLLIN, 0};
  timespec patience = kMostForFork;
  long heard = asked ? -EINTR : 0;
  while (heard == -EINTR) heard = Raw(SYS_ppoll, &closed, 1, &patience, nullptr, 0);
  Raw(SYS_close, release[0]);
  if (asked && heard == 0) return ETIMEDOUT;
  guest_pid = 2;
  return asked && Raw(SYS_kill, guest_pid, 0) == 0 ? 0 : ESRCH;
}

/// Makes the process that waits for its program. One of our own shares our memory as well, and
/// `start` with us. 0 or errno.
int MakeGuest(PodStart& start) {
  if (start.options.zygote >= 0) return ForkFromZygote(start);
  const PodOptions& options = start.options;
  clone_args args{};
  // Our handlers are not for it: what they pass on to the guest, it would send to itself for ever.
  args.flags = CLONE_PARENT_SETTID | CLONE_CLEAR_SIGHAND;
  // Before anyone can signal us to pass it on.
  args.parent_tid = reinterpret_cast<std::uint64_t>(&guest_pid);
  args.exit_signal = SIGCHLD;
  if (options.next.clone_into) {
    args.flags |= CLONE_INTO_CGROUP;
    args.cgroup = static_cast<std::uint64_t>(options.cgroups[options.next.join_count]);
  }
  const long made = CloneSharing(args, guest_stack.room, GuestMain, &start);
  return made < 0 ? static_cast<int>(-made) : 0;
}

/// The pod's PID 1, from its first instruction. When the guest is there, the slot init goes on, and
/// what it gave us is gone.
void PodMain(void* given) {
  PodStart start = *static_cast<const PodStart*>(given);
  const bool in_namespaces = start.options.in_namespaces;
  const bool warm = start.warm.started >= 0;
  const auto give_up = [](Stage stage, int error) {
    SendRaw(kSocket, Encode(Failed{stage, error, -1}));
    RawExit(0);
  };
  Raw(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
  Raw(SYS_prctl, PR_SET_NAME, "polybox-pod");
  // In place of the way to the server.
  Raw(SYS_dup3, start.socket, kSocket, O_CLOEXEC);
  if (last_word.exists()) Handle(SIGCHLD, Wake);
  for (const int signal : kPassedOn) Handle(signal, PassOn);
  if (in_namespaces) {
    Handle(kKillAll, KillAll);
    if (const int error = MountProc()) give_up(Stage::kPod, error);
  } else {
    Raw(SYS_prctl, PR_SET_CHILD_SUBREAPER, 1);
  }
  const bool clone_into = start.options.next.clone_into;
  if (const int error = MakeGuest(start)) {
    give_up(clone_into ? Stage::kCgroup : Stage::kPod, error);
  }
  // The guest's cgroups and the host's trees are no business of its init.
  constexpr int kStarted = kSocket + 1;
  if (warm && start.warm.started != kStarted) Raw(SYS_dup3, start.warm.started, kStarted, 0);
  Raw(SYS_close_range, warm ? kStarted + 1 : kSocket + 1, ~0U, 0);
  ReapUntilGuestEnds(kSocket, warm ? kStarted : -1);
  // One that waits for its end, it and we get when the answer is on its way.
  while (last_word.exists() && last_word.Heard()) Raw(SYS_ppoll, nullptr, 0, nullptr, nullptr, 0);
  RawExit(0);
}

bool HasCgroup(const NextPod& next) {
  return next.join_count > 0 || next.clone_into;
}

/// What a pod is made with, as long as it is the slot init's.
class PodFds {
 public:
  PodFds() = default;
  PodFds(const PodFds&) = delete;
  PodFds& operator=(const PodFds&) = delete;
  ~PodFds() {
    CloseTheirs();
    Close(ours_);
  }

  /// 0 or errno.
  int Make(bool warm) {
    int sockets[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0) return errno;
    ours_ = sockets[0];
    theirs_ = sockets[1];
    // The kernel then says who sent a message, by the number that we know it by.
    const int on = 1;
    ::setsockopt(ours_, SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
    // Whoever has this end later reads when there is something, and so does not wait.
    ::setsockopt(ours_, SOL_SOCKET, SO_RCVTIMEO, &kMostForPod, sizeof kMostForPod);
    if (!warm) return 0;
    warm_ = {::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), LastWord::Make()};
    return warm_.started < 0 || warm_.word < 0 ? errno : 0;
  }

  int theirs() const { return theirs_; }
  const WarmFds& warm() const { return warm_; }
  /// The caller's from here on.
  int TakeOurs() { return std::exchange(ours_, -1); }
  void CloseTheirs() {
    for (int* fd : {&theirs_, &warm_.started, &warm_.word}) Close(*fd);
  }

 private:
  static void Close(int& fd) {
    if (fd >= 0) ::close(fd);
    fd = -1;
  }

  int ours_ = -1;
  int theirs_ = -1;
  WarmFds warm_;
};

}  // namespace

StepResult MakePod(const PodOptions& options, Pod& pod) {
  static const bool closed = CloseEnds();
  if (!closed) return StepResult::Failure(Stage::kPod, ENOMEM);
  const bool warm = options.warm != nullptr || options.zygote >= 0;
  PodFds fds;
  if (const int error = fds.Make(warm)) return StepResult::Failure(Stage::kPod, error);
  // Without a cgroup what a guest has used is known only when the kernel has told of its end.
  if (warm && HasCgroup(options.next) && last_word.Map(fds.warm().word)) last_word.Listen();
  guest_pid = -1;
  stopped = 0;
  int pidfd = -1;
  clone_args args{};
  args.flags = CLONE_PIDFD | (options.in_namespaces ? CLONE_NEWPID : 0U);
  args.pidfd = reinterpret_cast<std::uint64_t>(&pidfd);
  args.exit_signal = SIGCHLD;
  PodStart start = {fds.theirs(), fds.warm(), options};
  const long pid = CloneSharing(args, pod_stack.room, PodMain, &start);
  if (pid < 0) {
    last_word.Unmap();
    return StepResult::Failure(Stage::kPod, static_cast<int>(-pid));
  }
  pod = {static_cast<pid_t>(pid), -1, pidfd, fds.TakeOurs(), warm};
  fds.CloseTheirs();
  Received ready;
  if (Receive(pod.socket, ready) && KindOf(ready.bytes) == MessageKind::kDone) {
    pod.guest = ready.sender;
    return {};
  }
  StepResult result = StepResult::Failure(Stage::kPod, EPROTO);
  if (!ready.bytes.empty()) Decode(ready.bytes, result.failed);
  // What it was started with is ours, and goes with us.
  ::kill(pod.pid, SIGKILL);
  siginfo_t ended{};
  while (::waitid(P_PID, static_cast<id_t>(pod.pid), &ended, WEXITED | WNOWAIT) < 0 &&
         errno == EINTR) {
  }
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
  last_word.Unmap();
  ForgetRun();
  pod = {};
  return FromUsage(usage, status);
}

}  // namespace polybox::jail::init
