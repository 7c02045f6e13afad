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
#include "jail/init/slot.h"
#include "jail/warm/warm.h"

namespace polybox::jail::warm {
namespace {

using init::Stage;
using init::StepResult;

// Any number that is not the guest's, which is 2, nor one that a guest's child would get soon.
constexpr pid_t kBetween = 300;

// Without a stack frame of its own: it returns twice on one stack.
[[gnu::always_inline]] inline long RawClone(clone_args* args) {
#if defined(__x86_64__)
  long result = 0;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(SYS_clone3), "D"(args), "S"(sizeof *args)
               : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long number asm("x8") = SYS_clone3;
  register long first asm("x0") = reinterpret_cast<long>(args);
  register long second asm("x1") = sizeof *args;
  asm volatile("svc #0" : "+r"(first) : "r"(number), "r"(second) : "memory");
  return first;
#else
#error "how is a system call made here?"
#endif
}

/// A guest must be a child of its pod's init, and only orphans become that: it is forked by a
/// process of the pod that ends at once. That one shares the zygote's memory and stack, as vfork's
/// child does, so that there is one copy to pay for and not two. Whether this is the guest.
[[gnu::noinline]] bool ForkInPod(pid_t (*fork)(), int cgroup) {
  pid_t between = kBetween;
  clone_args args{};
  args.flags = CLONE_VM | CLONE_VFORK | (cgroup < 0 ? 0 : CLONE_INTO_CGROUP);
  args.exit_signal = SIGCHLD;
  args.set_tid = reinterpret_cast<std::uint64_t>(&between);
  args.set_tid_size = 1;
  args.cgroup = cgroup < 0 ? 0 : static_cast<std::uint64_t>(cgroup);
  const long made = RawClone(&args);
  if (made == 0) {
    if (fork() == 0) return true;
    ::_exit(0);
  }
  while (made > 0 && ::waitpid(static_cast<pid_t>(made), nullptr, 0) < 0 && errno == EINTR) {
  }
  return false;
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

/// The guest, from its fork until it waits.
StepResult EnterPod(const init::Fork& fork, const std::vector<int>& fds) {
  if (::setns(fds[init::kForkIpc], CLONE_NEWIPC) != 0 ||
      ::setns(fds[init::kForkNet], CLONE_NEWNET) != 0) {
    return StepResult::Failure(Stage::kNamespaces, errno);
  }
  const std::vector<int> cgroups(fds.begin() + init::kForkDescriptors, fds.end());
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
    if (!init::Receive(init::kWarmSocket, received)) ::_exit(0);
    if (!init::Decode(received.bytes, request) || received.fds.size() < init::kForkDescriptors) {
      continue;
    }
    if (::setns(received.fds[init::kForkPids], CLONE_NEWPID) != 0) continue;
    const int cgroup = request.clone_into ? received.fds.back() : -1;
    // When it fails, the pod sees that there is no guest.
    if (!ForkInPod(fork, cgroup)) continue;
    RegisterSequences();
    const StepResult entered = EnterPod(request, received.fds);
    const int started = KeepDescriptors(received.fds);
    RememberMemory();
    init::Send(init::kWarmSocket,
               entered.ok ? init::Encode(init::MessageKind::kDone) : init::Encode(entered.failed));
    if (!entered.ok || started < 0) ::_exit(127);
    return started;
  }
}

}  // namespace polybox::jail::warm
