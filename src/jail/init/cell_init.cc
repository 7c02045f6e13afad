#include "jail/init/cell_init.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <poll.h>
#include <span>
#include <string_view>
#include <ucontext.h>

#include <linux/sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "jail/init/cpu_share.h"
#include "jail/init/proc.h"
#include "jail/init/protocol.h"
#include "jail/init/raw.h"
#include "jail/init/raw_messages.h"
#include "jail/init/waiting.h"

namespace polybox::jail::init {
namespace {

// The signals that are passed on to the guest: those of a terminal, and those that ask a program to
// end.
constexpr int kPassedOn[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

// A fork takes a millisecond. A zygote that takes this long, even on the busiest machine, will
// never answer.
constexpr timespec kMostForFork = {10, 0};

// The descriptors of a cell's init. kSocket is the cell's end of the guest's socket, while there is
// a guest. kControl is the socket to the slot init. kLastNumber is the file of the last PID.
constexpr int kSocket = 3;
constexpr int kControl = 4;
constexpr int kLastNumber = 5;

// All variables below are in the memory that the slot init, the cell's init and the waiting guest
// share (raw.h). There is one cell at a time, so one instance of each is enough. Only the cell's
// init writes them, after it has started, with three exceptions. The slot init maps and unmaps
// `last_word` while no guest exists. The kernel writes `guest_pid` during a clone. A guest runs on
// `guest_stack`. The slot init does not use the others. The waiting guest only reads `usual_mask`.
constinit LastWord last_word;
volatile pid_t guest_pid = -1;
bool stopped = false;
Stack guest_stack;

/// The signals that the cell's init handles. They are blocked except while the init sleeps on the
/// last word. A guest that sends signals in a loop could otherwise keep the init in its handlers
/// for ever.
std::uint64_t heard_signals = 0;
/// The signal mask that the cell's init started with, and that guests get.
std::uint64_t usual_mask = 0;
/// The signals that the handler was called for. The handler runs once, and then all signals are
/// blocked again.
volatile std::uint64_t arrived = 0;

constexpr std::uint64_t BitOf(int signal) {
  return 1ULL << static_cast<unsigned>(signal - 1);
}

void SetMask(std::uint64_t mask, std::uint64_t* before = nullptr) {
  Raw(SYS_rt_sigprocmask, SIG_SETMASK, &mask, before, sizeof mask);
}

/// The handler of all signals. It runs only in the cell's init: handlers are not shared with the
/// slot init, and a guest is made with CLONE_CLEAR_SIGHAND.
void Note(int signal, siginfo_t* /*about*/, void* context) {
  arrived = arrived | BitOf(signal);
  // The signal mask to restore after the handler: all signals blocked. The kernel's mask is shorter
  // than the C library's.
  std::memset(&static_cast<ucontext_t*>(context)->uc_sigmask, 0xff, sizeof(std::uint64_t));
  last_word.Interrupt();
}

/// Installs the handler for `signal`, which the constructor of CellInit blocks after that. This
/// call of the C library keeps the rules of raw.h: sigaction() cannot fail here, so it leaves errno
/// alone.
void HearOf(int signal) {
  struct sigaction action{};
  action.sa_sigaction = Note;
  ::sigfillset(&action.sa_mask);
  // A child that is stopped or continued needs no action.
  action.sa_flags = SA_SIGINFO | SA_NOCLDSTOP;
  ::sigaction(signal, &action, nullptr);
  heard_signals |= BitOf(signal);
}

/// Does what the signal asks for.
void Obey(int signal) {
  if (signal == SIGCHLD) return;
  if (signal == kKillAll) {
    if (Raw(SYS_getpid) != 1) return;  // without a PID namespace, -1 is all of the host
    stopped = true;
    Raw(SYS_kill, -1, SIGKILL);
  } else if (guest_pid > 0) {
    Raw(SYS_kill, guest_pid, signal == kEndGuest ? SIGKILL : signal);
  }
}

/// Waits for the next signal, or takes one that is pending. Returns a negative number when no
/// signal came within `most`; null is no bound.
long TakeSignal(const timespec* most) {
  return Raw(SYS_rt_sigtimedwait, &heard_signals, nullptr, most, sizeof heard_signals);
}

/// Signals that came too late for the last guest must not reach the next one.
void DropSignals() {
  constexpr timespec kNow = {0, 0};
  while (TakeSignal(&kNow) > 0) {
  }
}

/// Waits for a signal and obeys it.
void AwaitSignal() {
  if (const long signal = TakeSignal(nullptr); signal > 0) Obey(static_cast<int>(signal));
}

/// Waits for a signal, which is obeyed, or for a report in the last word. A signal between
/// SetMask() and the sleep is not lost: its handler makes Await() return at once.
void AwaitSignalOrWord() {
  arrived = 0;
  SetMask(usual_mask);
  last_word.Await();
  SetMask(usual_mask | heard_signals);
  for (int signal = 1; signal < SIGRTMIN; ++signal) {
    if ((arrived & BitOf(signal)) != 0) Obey(signal);
  }
}

int Open(const char* path, int flags) {
  return static_cast<int>(Raw(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0));
}

/// The PIDs of this PID namespace, which the kernel assigns in ascending order. ns_last_pid holds
/// the last one; a process with rights over the namespace can set it.
class Numbers {
 public:
  /// Uses `file`, which the caller keeps open. Returns whether the first guest and each later one
  /// can get PID 2.
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

/// How a guest ended, as waitpid() reports it.
struct Fate {
  int status = 0;
  /// False when the guest has only reported that it is about to end, and waits to be killed.
  bool reaped = true;
};

/// Waits for the guest's end and reaps other children meanwhile. It never sleeps in wait4().
/// Signals that do not report an end would keep it busy in the kernel, where it could not measure
/// its own use.
Fate AwaitGuest() {
  const CpuShare share;
  Fate fate;
  while (true) {
    const long ended = Raw(SYS_wait4, -1, &fate.status, WNOHANG, nullptr);
    if (ended == guest_pid || (ended < 0 && ended != -EINTR)) return fate;
    if (ended == 0 && last_word.exists()) {
      if (const std::optional<int> code = last_word.Heard()) return {W_EXITCODE(*code, 0), false};
      AwaitSignalOrWord();
    } else if (ended == 0) {
      AwaitSignal();
    }
    share.Keep();
  }
}

/// Waits for a guest that has reported its last word. The slot init kills that guest when the
/// answer is on its way.
void AwaitEndOf(pid_t guest) {
  const CpuShare share;
  while (Raw(SYS_wait4, guest, nullptr, WNOHANG, nullptr) == 0) {
    AwaitSignal();
    share.Keep();
  }
}

/// Finds out whether the guest has taken its program, which only a warm guest reports. Subtracts
/// what the guest had used before, since that is not the program's.
void LookAtStart(int started, Ended& ended) {
  std::uint64_t word = 0;
  ended.started = started < 0 || Raw(SYS_read, started, &word, sizeof word) == sizeof word;
  if (word == 0) return;
  const UsedBefore before = UnpackUsedBefore(word);
  ended.user_nanoseconds -= std::min(ended.user_nanoseconds, before.user_nanoseconds);
  ended.system_nanoseconds -= std::min(ended.system_nanoseconds, before.system_nanoseconds);
}

/// Returns what all children used that have been reaped so far.
Ended Used(int status) {
  rusage usage{};
  Raw(SYS_getrusage, RUSAGE_CHILDREN, &usage);
  return FromUsage(usage, status);
}

/// Reaps until the guest has ended, and reports to the server how it ended. With `stopped` all
/// processes of the cell have been killed, and all are reaped first. After the return no guest
/// shares memory and `guest_stack` is free.
void ReapUntilGuestEnds(int started) {
  const Ended before = Used(0);
  const Fate fate = AwaitGuest();
  long reaped = stopped ? 1 : 0;
  while (reaped > 0) reaped = Raw(SYS_wait4, -1, nullptr, 0, nullptr);
  Ended said = Used(fate.status);
  said.user_nanoseconds -= before.user_nanoseconds;
  said.system_nanoseconds -= before.system_nanoseconds;
  LookAtStart(started, said);
  SendRaw(kSocket, Encode(said));
  if (!fate.reaped) AwaitEndOf(guest_pid);
  guest_pid = -1;
}

/// The main function of a waiting guest, on `guest_stack`. `order` is in the stack frame of
/// ServeGuest(), which waits for this process. The slot init's objects that `order` refers to are
/// valid until the guest has reported: see WaitAsGuest().
void GuestMain(void* given) {
  const GuestOrder& order = *static_cast<const GuestOrder*>(given);
  SetMask(usual_mask);
  WaitAsGuest(kSocket, order.options, order.warm);
}

/// What a zygote needs besides the order to make a guest.
struct ForkPlace {
  /// The PID namespace of the cell.
  int pids = -1;
  /// The file that sets the last PID; -1 when the guest need not set it.
  int number = -1;
};

/// Lets the zygote fork the guest, which gets PID 2 as any other guest does. Such a guest has a
/// copy of the zygote's memory, so it shares none with the slot init. Returns 0 or an errno.
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
  const NextCell& next = order.options.next;
  const Fork fork = {next.join_count, next.clone_into, order.options.zygote_moves,
                     place.number >= 0};
  // The guest itself reports to the slot init that it exists, and may be told to end before this
  // function returns.
  guest_pid = kGuestPid;
  const bool asked = SendRaw(order.options.zygote, Encode(fork),
                             std::span<const int>(fds).first(count + cgroups.size()));
  Raw(SYS_close, release[1]);
  for (const int fd : namespaces) Raw(SYS_close, fd);
  // Waits until the guest exists and is a child of this init. A zygote that does not answer is
  // given up.
  pollfd closed = {release[0], POLLIN, 0};
  timespec patience = kMostForFork;
  long heard = asked ? -EINTR : 0;
  while (heard == -EINTR) heard = Raw(SYS_ppoll, &closed, 1, &patience, nullptr, 0);
  Raw(SYS_close, release[0]);
  if (asked && heard == 0) return ETIMEDOUT;
  return asked && Raw(SYS_kill, guest_pid, 0) == 0 ? 0 : ESRCH;
}

/// Makes the process that waits for its program. Without a zygote that process shares the slot
/// init's memory too, and runs on `guest_stack`, which no other process uses. The last guest has
/// been reaped. `order` must be valid until the guest has ended. Returns 0 or an errno.
int MakeGuest(GuestOrder& order, const ForkPlace& place) {
  if (order.options.zygote >= 0) return ForkFromZygote(order, place);
  const CellOptions& options = order.options;
  clone_args args{};
  // The guest must not have this init's handlers. A signal that they pass on to the guest would be
  // sent again and again, by the guest to itself.
  args.flags = CLONE_PARENT_SETTID | CLONE_CLEAR_SIGHAND;
  // The kernel writes `guest_pid` before the guest runs, so before a signal can arrive that is to
  // be passed on to it.
  args.parent_tid = reinterpret_cast<std::uint64_t>(&guest_pid);
  args.exit_signal = SIGCHLD;
  if (options.next.clone_into) {
    args.flags |= CLONE_INTO_CGROUP;
    args.cgroup = static_cast<std::uint64_t>(options.cgroups[options.next.join_count]);
  }
  const long made = CloneSharing(args, guest_stack.room, GuestMain, &order);
  return made < 0 ? static_cast<int>(-made) : 0;
}

/// The state of a cell's init. It lies on the init's own stack.
class CellInit {
 public:
  explicit CellInit(const CellBirth& birth) {
    Raw(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
    Raw(SYS_prctl, PR_SET_NAME, "polybox-cell");
    KeepDescriptors(birth);
    heard_signals = 0;
    HearOf(SIGCHLD);
    for (const int signal : kPassedOn) HearOf(signal);
    if (birth.in_namespaces) {
      SetUpNamespace(birth);
    } else {
      Raw(SYS_prctl, PR_SET_CHILD_SUBREAPER, 1);
    }
    SetMask(~0ULL, &usual_mask);
    SetMask(usual_mask | heard_signals);
    // Closes the slot init's socket to the server. The guest's socket takes its place: a received
    // descriptor gets the lowest free number.
    Raw(SYS_close, kSocket);
  }

  [[noreturn]] void Serve() {
    while (true) {
      if (!ServeGuest()) RawExit(0);
      SendRaw(kControl, Encode(MessageKind::kDone));
    }
  }

 private:
  /// Closes all descriptors but the init's own. It must hold neither the guest's cgroups nor the
  /// host's trees.
  void KeepDescriptors(const CellBirth& birth) {
    // Both are first moved above their final numbers, so that neither overwrites the other.
    const long control = Raw(SYS_fcntl, birth.control, F_DUPFD_CLOEXEC, kLastNumber + 1);
    if (birth.last_number >= 0) Raw(SYS_dup3, birth.last_number, kLastNumber, O_CLOEXEC);
    Raw(SYS_dup3, control, kControl, O_CLOEXEC);
    own_end_ = (birth.last_number >= 0 ? kLastNumber : kControl) + 1;
    Raw(SYS_close_range, own_end_, ~0U, 0);
  }

  /// Prepares the PID namespace: signals, /proc, the last PID. Records a failure in `error_`.
  void SetUpNamespace(const CellBirth& birth) {
    HearOf(kKillAll);
    if (birth.may_stay) HearOf(kEndGuest);
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

  /// Receives an order and copies it, with this process's descriptor numbers in place of the slot
  /// init's. The copy still refers to objects of the slot init (see GuestOrder). Returns nothing
  /// when the slot init is gone.
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

  /// Makes the guest. Returns 0 or an errno.
  int Make(GuestOrder& order) const {
    if (error_ != 0) return error_;
    stopped = false;
    if (!may_stay_) return MakeGuest(order, {.pids = pids_});
    // On cgroup v2 a zygote makes another process in the cell first, as a helper: see warm/fork.cc.
    const bool helped = order.options.next.clone_into && order.options.zygote >= 0;
    if (!numbers_.SetLast((helped ? kHelperPid : kGuestPid) - 1)) return EPERM;
    return MakeGuest(order, {.pids = pids_, .number = helped ? numbers_.file() : -1});
  }

  /// Makes a guest and waits for its end. Returns whether another guest may follow.
  bool ServeGuest() {
    std::optional<GuestOrder> order = TakeOrder();
    if (!order) return false;
    DropSignals();
    // The slot init may discard the order as soon as the guest has reported. So what is needed
    // later is read now.
    const Stage stage = order->options.next.clone_into ? Stage::kCgroup : Stage::kCell;
    if (const int error = Make(*order)) GiveUp(error_ != 0 ? Stage::kCell : stage, error);
    const int started = order->warm.started;
    Raw(SYS_close_range, started >= 0 ? started + 1 : own_end_, ~0U, 0);
    ReapUntilGuestEnds(started);
    // When this init exits, the kernel kills all other processes of the cell.
    if (!may_stay_ || !IsAlone()) return false;
    Raw(SYS_close, kSocket);
    if (started >= 0) Raw(SYS_close, started);
    return true;
  }

  /// Returns whether the last guest was the only process that ever ran beside this init since the
  /// last PID was set. Then no child is left, and the last PID is the guest's.
  bool IsAlone() const {
    return Raw(SYS_wait4, -1, nullptr, WNOHANG | __WALL, nullptr) == -ECHILD &&
           numbers_.last() == kGuestPid;
  }

  int error_ = 0;
  Numbers numbers_;
  bool may_stay_ = false;
  /// The cell's PID namespace, for a zygote.
  int pids_ = -1;
  /// Descriptors from this number on come with orders.
  int own_end_ = kControl + 1;
  /// The descriptors of the last order.
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

LastWord& LastWordOfGuest() {
  return last_word;
}

void CellMain(void* birth) {
  CellInit init(*static_cast<const CellBirth*>(birth));
  init.Serve();
}

bool CloseEndOfGuestStack() {
  return guest_stack.CloseEnd();
}

}  // namespace polybox::jail::init
