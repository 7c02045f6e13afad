#include <cerrno>
#include <csignal>
#include <cstdint>
#include <unistd.h>
#include <utility>

#include <linux/sched.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "jail/init/pod_init.h"
#include "jail/init/raw.h"
#include "jail/init/slot.h"

namespace polybox::jail::init {
namespace {

// From the pod's first instruction until its guest waits. What takes this long on the busiest
// machine will never come.
constexpr timeval kMostForPod = {20, 0};

// Nothing is known that a guest leaves to the next; whatever it were, it would not stay for long.
constexpr int kMostGuests = 256;

Stack pod_stack;

bool HasCgroup(const NextPod& next) {
  return next.join_count > 0 || next.clone_into;
}

/// What a guest is made with, as long as it is the slot init's.
class GuestFds {
 public:
  GuestFds() = default;
  GuestFds(const GuestFds&) = delete;
  GuestFds& operator=(const GuestFds&) = delete;
  ~GuestFds() {
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

/// A pod without a guest.
StepResult StartPod(const PodOptions& options, Pod& pod) {
  static const bool closed = pod_stack.CloseEnd() && CloseEndOfGuestStack();
  if (!closed) return StepResult::Failure(Stage::kPod, ENOMEM);
  int control[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) != 0) {
    return StepResult::Failure(Stage::kPod, errno);
  }
  // What it has to say never takes long. One that does not say it is given up.
  ::setsockopt(control[0], SOL_SOCKET, SO_RCVTIMEO, &kMostForPod, sizeof kMostForPod);
  // Where guests have our uid they can do things to their init which the next one would find. And
  // what no cgroup tells of a guest its init does, whose figures only grow.
  const bool may_stay = options.in_namespaces && !SharesUsers() && options.next.counted;
  int pidfd = -1;
  clone_args args{};
  args.flags = CLONE_PIDFD | (options.in_namespaces ? CLONE_NEWPID : 0U);
  args.pidfd = reinterpret_cast<std::uint64_t>(&pidfd);
  args.exit_signal = SIGCHLD;
  // It is read in the other process, in its own time.
  static PodBirth birth;
  birth = {control[1], options.in_namespaces, may_stay, options.zygote_later, options.last_number};
  const long pid = CloneSharing(args, pod_stack.room, PodMain, &birth);
  if (pid > 0) {
    pod = {.pid = static_cast<pid_t>(pid),
           .pidfd = pidfd,
           .control = control[0],
           .control_numbers = may_stay ? NumbersOf(control) : SocketNumbers(),
           .may_stay = may_stay};
  } else {
    ::close(control[0]);
  }
  ::close(control[1]);
  return pid > 0 ? StepResult() : StepResult::Failure(Stage::kPod, static_cast<int>(-pid));
}

/// Whether the pod's init will hear of it. What it says to it is said on the guest's socket.
bool SendOrder(GuestOrder& order, int control) {
  std::vector<int> fds;
  for (const int* fd : order.descriptors()) {
    if (*fd >= 0) fds.push_back(*fd);
  }
  fds.insert(fds.end(), order.options.cgroups.begin(), order.options.cgroups.end());
  const auto place = reinterpret_cast<std::uintptr_t>(&order);
  return Send(control, {reinterpret_cast<const char*>(&place), sizeof place}, fds);
}

// There is no init that could make one.
constexpr int kGone = EPROTO;

/// Lets a pod's init make a guest.
StepResult MakeGuest(const PodOptions& options, Pod& pod) {
  const bool warm = options.warm != nullptr || options.zygote >= 0;
  GuestFds fds;
  if (const int error = fds.Make(warm)) return StepResult::Failure(Stage::kPod, error);
  // Without a cgroup what a guest has used is known only when the kernel has told of its end.
  if (warm && HasCgroup(options.next) && last_word.Map(fds.warm().word)) last_word.Listen();
  GuestOrder order = {options, fds.theirs(), fds.warm()};
  const bool sent = SendOrder(order, pod.control);
  pod.socket = fds.TakeOurs();
  pod.warm = warm;
  fds.CloseTheirs();
  Received ready;
  if (sent && ReceiveShort(pod.socket, ready) && KindOf(ready.bytes) == MessageKind::kDone) {
    pod.guest = ready.sender;
    return {};
  }
  StepResult result = StepResult::Failure(Stage::kPod, kGone);
  if (!ready.bytes.empty()) Decode(ready.bytes, result.failed);
  return result;
}

/// It has what it was started with of us: it goes before that does.
void KillPod(const Pod& pod) {
  ::kill(pod.pid, SIGKILL);
  siginfo_t ended{};
  while (::waitid(P_PID, static_cast<id_t>(pod.pid), &ended, WEXITED | WNOWAIT) < 0 &&
         errno == EINTR) {
  }
}

/// Ends the guest if it is still there. Whether the pod's init stays, alone.
bool AwaitAlone(const Pod& pod) {
  char word[8];
  ssize_t said = ::recv(pod.control, word, sizeof word, MSG_DONTWAIT);
  if (said < 0 && errno == EAGAIN) {
    ::kill(pod.pid, kEndGuest);
    do {
      said = ::recv(pod.control, word, sizeof word, 0);
    } while (said < 0 && errno == EINTR);
  }
  return said > 0;
}

/// What was there for one guest only.
void ForgetGuest(Pod& pod) {
  if (pod.socket >= 0) ::close(pod.socket);
  pod.socket = -1;
  pod.guest = -1;
  last_word.Unmap();
  ForgetRun();
}

}  // namespace

bool Stack::CloseEnd() {
  return ::mprotect(end.data(), kPage, PROT_NONE) == 0;
}

StepResult MakePod(const PodOptions& options, Pod& pod) {
  const bool stayed = pod.exists();
  if (!stayed) {
    const StepResult started = StartPod(options, pod);
    if (!started.ok) return started;
  }
  const StepResult made = MakeGuest(options, pod);
  if (made.ok) {
    if (!stayed && pod.may_stay) pod.links.Look();
    return made;
  }
  KillPod(pod);
  if (options.in_namespaces) EndPod(pod);
  // It may have been killed while it had nothing to do.
  return stayed && made.failed.error == kGone ? MakePod(options, pod) : made;
}

Ended EndRun(Pod& pod) {
  if (pod.guest < 0) return {};
  if (!pod.may_stay || ++pod.guests == kMostGuests || !AwaitAlone(pod)) return EndPod(pod);
  ForgetGuest(pod);
  return ForgetLooksAtProc(pod.links) ? Ended() : EndPod(pod);
}

Ended EndPod(Pod& pod) {
  if (!pod.exists()) return {};
  ::kill(pod.pid, SIGKILL);
  rusage usage{};
  int status = 0;
  while (::wait4(pod.pid, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  ForgetGuest(pod);
  ::close(pod.pidfd);
  ::close(pod.control);
  UnmountProc();
  pod = {};
  return FromUsage(usage, status);
}

}  // namespace polybox::jail::init
