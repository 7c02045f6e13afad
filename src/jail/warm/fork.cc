#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>
#include <utility>

#include <linux/sched.h>
#include <sys/prctl.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "jail/init/messages.h"
#include "jail/init/raw.h"
#include "jail/init/slot.h"
#include "jail/warm/warm.h"

namespace polybox::jail::warm {
namespace {

using init::Stage;
using init::StepResult;

void Await(pid_t child) {
  while (child > 0 && ::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
}

/// Forks by way of a process of the pod, in `cgroup` unless that is -1, which shares the zygote's
/// memory and stack, as vfork's child does, so that there is one copy to pay for and not two.
[[gnu::noinline]] bool ForkByWay(pid_t (*fork)(), int cgroup) {
  pid_t between = init::kHelperPid;
  clone_args args{};
  args.flags = CLONE_VM | CLONE_VFORK | (cgroup < 0 ? 0 : CLONE_INTO_CGROUP);
  args.exit_signal = SIGCHLD;
  args.set_tid = reinterpret_cast<std::uint64_t>(&between);
  args.set_tid_size = 1;
  args.cgroup = cgroup < 0 ? 0 : static_cast<std::uint64_t>(cgroup);
  const long made = init::Raw(SYS_clone3, &args, sizeof args);
  if (made == 0) {
    if (fork() == 0) return true;
    ::_exit(0);
  }
  Await(static_cast<pid_t>(made));
  return false;
}

/// Where the C library keeps the number of this thread; null where the kernel does not tell.
int* NumberOfThread() {
  int* address = nullptr;
  return ::prctl(PR_GET_TID_ADDRESS, &address) == 0 ? address : nullptr;
}

/// Uses up the number of the guest, for the next process to get another.
[[gnu::noinline]] void PassOverNumber() {
  clone_args args{};
  args.flags = CLONE_VM | CLONE_VFORK;
  args.exit_signal = SIGCHLD;
  const long made = init::Raw(SYS_clone3, &args, sizeof args);
  if (made == 0) ::_exit(0);
  Await(static_cast<pid_t>(made));
}

/// Goes on as another process, in `cgroup`, that has this one's memory and the guest's number; this
/// one is gone then. Returns once, in the other, unless there is none.
[[gnu::noinline]] void GoOnIn(int cgroup, int* thread) {
  pid_t guest = init::kGuestPid;
  void* robust = nullptr;
  std::size_t size = 0;
  ::syscall(SYS_get_robust_list, 0, &robust, &size);
  // Else the end of this process would clear it.
  ::syscall(SYS_set_tid_address, nullptr);
  clone_args args{};
  args.flags =
      CLONE_VM | CLONE_VFORK | CLONE_INTO_CGROUP | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID;
  args.exit_signal = SIGCHLD;
  args.child_tid = reinterpret_cast<std::uint64_t>(thread);
  args.set_tid = reinterpret_cast<std::uint64_t>(&guest);
  args.set_tid_size = 1;
  args.cgroup = static_cast<std::uint64_t>(cgroup);
  if (init::Raw(SYS_clone3, &args, sizeof args) != 0) ::_exit(0);
  ::syscall(SYS_set_robust_list, robust, size);
  // It waits for us, in the kernel. What we touch is charged to it for as long as it is there.
  ::kill(::getppid(), SIGKILL);
  while (::getppid() != 1) ::sched_yield();
}

/// Only a process that is born there costs nothing to get into a cgroup (v2), and only one that has
/// never been there is not counted in it. So the copy is made outside, by the C library's own
/// fork(), which can say nothing of cgroups, and its memory handed on to a process inside.
bool ForkBeside(pid_t (*fork)(), const init::Fork& request, int cgroup, int* thread) {
  if (!request.sets_number) PassOverNumber();
  const pid_t between = fork();
  if (between == 0) {
    GoOnIn(cgroup, thread);
    return true;
  }
  Await(between);
  return false;
}

/// A guest must be a child of its pod's init, and only orphans become that: there is a process in
/// between that ends at once. Whether this is the guest.
bool ForkInPod(pid_t (*fork)(), const init::Fork& request, int cgroup) {
  int* thread = cgroup < 0 ? nullptr : NumberOfThread();
  return thread == nullptr ? ForkByWay(fork, cgroup) : ForkBeside(fork, request, cgroup, thread);
}

/// A process that shared our memory has none of the kernel's help for restartable sequences, nor
/// has its child.
void RegisterSequences() {
#ifdef RSEQ_SIG
  if (__rseq_size == 0) return;
  char* area = static_cast<char*>(__builtin_thread_pointer()) + __rseq_offset;
  constexpr unsigned kSize = 32;
  reinterpret_cast<struct rseq*>(area)->cpu_id =
      static_cast<std::uint32_t>(RSEQ_CPU_ID_UNINITIALIZED);
  ::syscall(SYS_rseq, area, kSize, 0, RSEQ_SIG);
#endif
}

std::size_t FirstNamespace(const init::Fork& fork) {
  return init::kForkDescriptors + (fork.sets_number ? 1 : 0);
}

/// Where a fork's own descriptors end.
std::size_t CountOwn(const init::Fork& fork) {
  constexpr std::size_t kNamespaces = 2;
  return FirstNamespace(fork) + (fork.moves ? kNamespaces : 0);
}

/// The zygote itself: its guests are born there.
bool Move(const init::Fork& fork, const std::vector<int>& fds) {
  const std::size_t first = FirstNamespace(fork);
  return ::setns(fds[first], CLONE_NEWIPC) == 0 && ::setns(fds[first + 1], CLONE_NEWNET) == 0;
}

/// The guest's first child gets the number after its own.
bool SetNumber(int last_number) {
  const std::string number = std::to_string(init::kGuestPid);
  return ::pwrite(last_number, number.data(), number.size(), 0) ==
         static_cast<ssize_t>(number.size());
}

/// The guest, from its fork until it waits.
StepResult EnterPod(const init::Fork& fork, const std::vector<int>& fds) {
  const std::vector<int> cgroups(fds.begin() + static_cast<std::ptrdiff_t>(CountOwn(fork)),
                                 fds.end());
  if (fork.sets_number && !SetNumber(fds[init::kForkDescriptors])) {
    return StepResult::Failure(Stage::kPod, errno);
  }
  const std::string no_filter;
  init::NextPod next;
  next.join_count = fork.join_count;
  const StepResult dropped = init::GiveUpRights({no_filter, next, cgroups});
  if (!dropped.ok) return dropped;
  // As after an exec: what /proc says of it is its own business.
  ::prctl(PR_SET_DUMPABLE, 1);
  return {};
}

/// Keeps of the descriptors that came with the request the pod's socket, where it is looked for,
/// and the one that is returned; -1 on failure. The interpreter's own stay: it knows of them.
int KeepDescriptors(std::vector<int>& fds) {
  last_word.Map(fds[init::kForkWord]);
  const bool placed = ::dup3(fds[init::kForkSocket], init::kWarmSocket, O_CLOEXEC) >= 0;
  const int started = std::exchange(fds[init::kForkStarted], -1);
  for (const int fd : fds) ::close(fd);
  fds.clear();
  return placed ? started : -1;
}

}  // namespace

int ServeForks(pid_t (*fork)()) {
  if (!init::Send(init::kWarmSocket, init::Encode(init::MessageKind::kDone))) ::_exit(0);
  while (true) {
    init::Received received;
    init::Fork request;
    if (!init::ReceiveShort(init::kWarmSocket, received)) ::_exit(0);
    constexpr std::size_t kOfItself = 2;
    if (init::KindOf(received.bytes) == init::MessageKind::kDone &&
        received.fds.size() == kOfItself) {
      RememberMemory(received.fds[0]);
      UseLargePages(received.fds[1]);
      continue;
    }
    if (!init::Decode(received.bytes, request) || received.fds.size() < CountOwn(request)) {
      continue;
    }
    if (request.moves && !Move(request, received.fds)) continue;
    if (::setns(received.fds[init::kForkPids], CLONE_NEWPID) != 0) continue;
    const int cgroup = request.clone_into ? received.fds.back() : -1;
    // When it fails, the pod sees that there is no guest.
    if (!ForkInPod(fork, request, cgroup)) continue;
    RegisterSequences();
    const StepResult entered = EnterPod(request, received.fds);
    const int started = KeepDescriptors(received.fds);
    init::Send(init::kWarmSocket,
               entered.ok ? init::Encode(init::MessageKind::kDone) : init::Encode(entered.failed));
    if (!entered.ok || started < 0) ::_exit(127);
    return started;
  }
}

}  // namespace polybox::jail::warm
