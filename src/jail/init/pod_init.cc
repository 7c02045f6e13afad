#include "jail/init/pod_init.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <fcntl.h>
#include <optional>
#include <poll.h>
#include <span>
#include <string_view>

#include <linux/sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "jail/init/raw.h"
#include "jail/init/raw_messages.h"

namespace polybox::jail::init {
namespace {

// What a terminal sends, and what asks a program to end.
constexpr int kPassedOn[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

// A fork takes a millisecond. What takes this long on the busiest machine will never come.
constexpr timespec kMostForFork = {10, 0};

// Where a pod's init has its end of the way to the server, while there is a guest, and to its slot
// init.
constexpr int kSocket = 3;
constexpr int kControl = 4;
constexpr int kLastNumber = 5;

volatile pid_t guest_pid = -1;
volatile sig_atomic_t stopped = 0;
Stack guest_stack;

void PassOn(int signal) {
  if (guest_pid > 0) Raw(SYS_kill, guest_pid, signal);
}

void EndGuest(int /*signal*/) {
  if (guest_pid > 0) Raw(SYS_kill, guest_pid, SIGKILL);
}

void Wake(int /*signal*/) {
  if (last_word.exists()) last_word.Interrupt();
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

int Open(const char* path, int flags) {
  return static_cast<int>(Raw(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0));
}

/// The numbers that processes of this namespace get, one after another. The file that tells of the
/// last one lets those with rights over the namespace set it.
class Numbers {
 public:
  /// Takes `file`. Whether the first guest, and any later one, can be PID 2.
  bool Use(int file) {
    file_ = file;
    return SetLast(kGuestPid - 1) && last() == kGuestPid - 1;
  }
  bool SetLast(int number) const {
    std::array<char, 12> text{};
    const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), number);
    const long size = end - text.data();
    return Raw(SYS_pwrite64, file_, text.data(), size, 0) == size;
  }
  int last() const {
    std::array<char, 12> text{};
    const long size = Raw(SYS_pread64, file_, text.data(), text.size(), 0);
    int number = -1;
    if (size > 0) std::from_chars(text.data(), text.data() + size, number);
    return number;
  }
  int file() const { return file_; }

 private:
  int file_ = -1;
};

/// How a guest ended, as waitpid() says it.
struct Fate {
  int status = 0;
  /// Otherwise it has only said that it is about to, and waits for its end.
  bool reaped = true;
};

Fate AwaitGuest() {
  Fate fate;
  while (true) {
    const long ended = Raw(SYS_wait4, -1, &fate.status, last_word.exists() ? WNOHANG : 0, nullptr);
    if (ended == guest_pid || (ended < 0 && ended != -EINTR)) return fate;
    if (ended != 0) continue;
    if (const std::optional<int> code = last_word.Heard()) return {W_EXITCODE(*code, 0), false};
    last_word.Await();
  }
}

/// One that waits for its end gets it when the answer is on its way.
void AwaitEndOf(pid_t guest) {
  while (Raw(SYS_wait4, guest, nullptr, 0, nullptr) == -EINTR) {
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

/// What those used that were reaped so far.
Ended Used(int status) {
  rusage usage{};
  Raw(SYS_getrusage, RUSAGE_CHILDREN, &usage);
  return FromUsage(usage, status);
}

/// Reaps, and says how the guest ended.
void ReapUntilGuestEnds(int started) {
  const Ended before = Used(0);
  const Fate fate = AwaitGuest();
  long reaped = stopped != 0 ? 1 : 0;
  while (reaped > 0 || reaped == -EINTR) reaped = Raw(SYS_wait4, -1, nullptr, 0, nullptr);
  Ended said = Used(fate.status);
  said.user_nanoseconds -= before.user_nanoseconds;
  said.system_nanoseconds -= before.system_nanoseconds;
  LookAtStart(started, said);
  SendRaw(kSocket, Encode(said));
  if (!fate.reaped) AwaitEndOf(guest_pid);
  guest_pid = -1;
}

void GuestMain(void* given) {
  const GuestOrder& order = *static_cast<const GuestOrder*>(given);
  WaitAsGuest(kSocket, order.options, order.warm);
}

/// Where a zygote makes a guest.
struct ForkPlace {
  /// Our PID namespace.
  int pids = -1;
  /// For setting the last number in it; -1 when nobody needs to.
  int number = -1;
};

/// Lets the zygote fork the guest, which is PID 2 then as any other. 0 or errno.
int ForkFromZygote(const GuestOrder& order, const ForkPlace& place) {
  int release[2] = {-1, -1};
  if (const long made = Raw(SYS_pipe2, release, O_CLOEXEC); made < 0) {
    return static_cast<int>(-made);
  }
  std::array<int, kMostDescriptors> fds{};
  fds[kForkSocket] = kSocket;
  fds[kForkPids] = place.pids;
  fds[kForkStarted] = order.warm.started;
  fds[kForkWord] = order.warm.word;
  fds[kForkRelease] = release[1];
  std::size_t count = kForkDescriptors;
  if (place.number >= 0) fds[count++] = place.number;
  const std::size_t first = count;
  if (order.options.zygote_moves) {
    fds[count++] = Open("/proc/self/ns/ipc", O_RDONLY);
    fds[count++] = Open("/proc/self/ns/net", O_RDONLY);
  }
  const std::span<const int> namespaces = std::span<const int>(fds).subspan(first, count - first);
  const std::span<const int> cgroups = order.options.cgroups;
  std::ranges::copy(cgroups, fds.begin() + count);
  const NextPod& next = order.options.next;
  const Fork fork = {next.join_count, next.clone_into, order.options.zygote_moves,
                     place.number >= 0};
  // It says by itself that it is there, and may be told to end before we know of it.
  guest_pid = kGuestPid;
  const bool asked = SendRaw(order.options.zygote, Encode(fork),
                             std::span<const int>(fds).first(count + cgroups.size()));
  Raw(SYS_close, release[1]);
  for (const int fd : namespaces) Raw(SYS_close, fd);
  // Until the guest is there, and ours to wait for. A zygote that does not answer is given up.
  pollfd closed = {release[0], POLLIN, 0};
  timespec patience = kMostForFork;
  long heard = asked ? -EINTR : 0;
  while (heard == -EINTR) heard = Raw(SYS_ppoll, &closed, 1, &patience, nullptr, 0);
  Raw(SYS_close, release[0]);
  if (asked && heard == 0) return ETIMEDOUT;
  return asked && Raw(SYS_kill, guest_pid, 0) == 0 ? 0 : ESRCH;
}

/// Makes the process that waits for its program. One of our own shares our memory as well, and
/// `order` with us. 0 or errno.
int MakeGuest(GuestOrder& order, const ForkPlace& place) {
  if (order.options.zygote >= 0) return ForkFromZygote(order, place);
  const PodOptions& options = order.options;
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
  const long made = CloneSharing(args, guest_stack.room, GuestMain, &order);
  return made < 0 ? static_cast<int>(-made) : 0;
}

class PodInit {
 public:
  explicit PodInit(const PodBirth& birth) {
    Raw(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
    Raw(SYS_prctl, PR_SET_NAME, "polybox-pod");
    KeepDescriptors(birth);
    for (const int signal : kPassedOn) Handle(signal, PassOn);
    if (birth.in_namespaces) {
      SetUpNamespace(birth);
    } else {
      Raw(SYS_prctl, PR_SET_CHILD_SUBREAPER, 1);
    }
    // The slot init's way to the server. The pod's own comes in its place: the lowest that is free.
    Raw(SYS_close, kSocket);
  }

  [[noreturn]] void Serve() {
    while (true) {
      if (!ServeGuest()) RawExit(0);
      SendRaw(kControl, Encode(MessageKind::kDone));
    }
  }

 private:
  /// The guest's cgroups and the host's trees are no business of its init.
  void KeepDescriptors(const PodBirth& birth) {
    // Neither may be where the other goes to.
    const long control = Raw(SYS_fcntl, birth.control, F_DUPFD_CLOEXEC, kLastNumber + 1);
    if (birth.last_number >= 0) Raw(SYS_dup3, birth.last_number, kLastNumber, O_CLOEXEC);
    Raw(SYS_dup3, control, kControl, O_CLOEXEC);
    own_end_ = (birth.last_number >= 0 ? kLastNumber : kControl) + 1;
    Raw(SYS_close_range, own_end_, ~0U, 0);
  }

  void SetUpNamespace(const PodBirth& birth) {
    Handle(kKillAll, KillAll);
    if (birth.may_stay) Handle(kEndGuest, EndGuest);
    error_ = MountProc();
    if (error_ != 0) return;
    may_stay_ = birth.may_stay && birth.last_number >= 0 && numbers_.Use(kLastNumber);
    if (birth.has_zygote) pids_ = Open("/proc/self/ns/pid", O_RDONLY);
    own_end_ = std::max(own_end_, pids_ + 1);
  }

  [[noreturn]] static void GiveUp(Stage stage, int error) {
    SendRaw(kSocket, Encode(Failed{stage, error, -1}));
    RawExit(0);
  }

  /// With our own descriptors; nothing when the slot init is gone.
  std::optional<GuestOrder> TakeOrder() {
    std::uintptr_t place = 0;
    std::size_t count = 0;
    const std::span<char> room(reinterpret_cast<char*>(&place), sizeof place);
    if (ReceiveRaw(kControl, room, fds_, count) != room.size()) return std::nullopt;
    GuestOrder order = *reinterpret_cast<const GuestOrder*>(place);
    const std::size_t named = order.TakeDescriptors(fds_);
    order.options.cgroups = std::span<const int>(fds_).subspan(named, count - named);
    return order;
  }

  /// 0 or errno.
  int Make(GuestOrder& order) const {
    if (error_ != 0) return error_;
    stopped = 0;
    Handle(SIGCHLD, last_word.exists() ? Wake : SIG_DFL);
    if (!may_stay_) return MakeGuest(order, {.pids = pids_});
    // On cgroup v2 a zygote makes another process in the pod for it: see warm/fork.cc.
    const bool helped = order.options.next.clone_into && order.options.zygote >= 0;
    if (!numbers_.SetLast((helped ? kHelperPid : kGuestPid) - 1)) return EPERM;
    return MakeGuest(order, {.pids = pids_, .number = helped ? numbers_.file() : -1});
  }

  /// Whether it can be followed by another.
  bool ServeGuest() {
    std::optional<GuestOrder> order = TakeOrder();
    if (!order) return false;
    // The order is the slot init's to forget when the guest is there.
    const Stage stage = order->options.next.clone_into ? Stage::kCgroup : Stage::kPod;
    if (const int error = Make(*order)) GiveUp(error_ != 0 ? Stage::kPod : stage, error);
    const int started = order->warm.started;
    Raw(SYS_close_range, started >= 0 ? started + 1 : own_end_, ~0U, 0);
    ReapUntilGuestEnds(started);
    // All that is left in the pod ends with us.
    if (!may_stay_ || !IsAlone()) return false;
    Raw(SYS_close, kSocket);
    if (started >= 0) Raw(SYS_close, started);
    return true;
  }

  /// Whether its last guest was all that has ever been here beside us, since we started to count
  /// anew.
  bool IsAlone() const {
    return Raw(SYS_wait4, -1, nullptr, WNOHANG | __WALL, nullptr) == -ECHILD &&
           numbers_.last() == kGuestPid;
  }

  int error_ = 0;
  Numbers numbers_;
  bool may_stay_ = false;
  /// Our PID namespace, for a zygote.
  int pids_ = -1;
  /// Descriptors from here on come with orders.
  int own_end_ = kControl + 1;
  /// Those of the last one.
  std::array<int, kMostDescriptors> fds_{};
};

std::uint64_t Nanoseconds(const timeval& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(time.tv_usec) * 1000U;
}

}  // namespace

Ended FromUsage(const rusage& usage, int status) {
  return {.status = status,
          .user_nanoseconds = Nanoseconds(usage.ru_utime),
          .system_nanoseconds = Nanoseconds(usage.ru_stime),
          .largest_resident_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024U};
}

void PodMain(void* birth) {
  PodInit init(*static_cast<const PodBirth*>(birth));
  init.Serve();
}

bool CloseEndOfGuestStack() {
  return guest_stack.CloseEnd();
}

}  // namespace polybox::jail::init
