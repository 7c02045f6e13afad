#include "warm/fork.h"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <sched.h>
#include <span>
#include <unistd.h>
#include <utility>

#include <linux/sched.h>
#include <sys/prctl.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "jail/init/guest.h"
#include "jail/init/messages.h"
#include "jail/init/raw.h"
#include "jail/init/step_result.h"
#include "warm/arguments.h"
#include "warm/library.h"
#include "warm/pages.h"

namespace polybox::warm {
namespace {

using init::Stage;
using init::StepResult;

/// Reaps `child`; does nothing for a negative number.
void Await(pid_t child) {
  while (child > 0 && ::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
}

/// Forks the guest from a helper process in the cell, in `cgroup` unless that is -1. Returns true
/// in the guest. The helper shares the zygote's memory and stack, as vfork's child does, so memory
/// is copied once and not twice. Both may use one stack and the C library, because CLONE_VFORK
/// suspends the zygote until the helper has exited.
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

/// Returns where the C library keeps the TID of this thread; null where the kernel does not tell.
int* NumberOfThread() {
  int* address = nullptr;
  return ::prctl(PR_GET_TID_ADDRESS, &address) == 0 ? address : nullptr;
}

/// Uses up the guest's PID, so that the next process gets another. The short-lived process shares
/// memory and stack with its parent, which CLONE_VFORK suspends meanwhile.
[[gnu::noinline]] void PassOverNumber() {
  clone_args args{};
  args.flags = CLONE_VM | CLONE_VFORK;
  args.exit_signal = SIGCHLD;
  const long made = init::Raw(SYS_clone3, &args, sizeof args);
  if (made == 0) ::_exit(0);
  Await(static_cast<pid_t>(made));
}

/// Continues as another process, in `cgroup`, which has this process's memory and the guest's PID.
/// This process ends. Returns once, in the other process, unless that one could not be made. Both
/// may use one stack, because CLONE_VFORK suspends this process until the other one has killed it.
[[gnu::noinline]] void GoOnIn(int cgroup, int* thread) {
  pid_t guest = init::kGuestPid;
  void* robust = nullptr;
  std::size_t size = 0;
  ::syscall(SYS_get_robust_list, 0, &robust, &size);
  // Otherwise the end of this process would clear the TID in the shared memory.
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
  // The parent waits in the kernel. Memory that this process touches is charged to the parent as
  // long as the parent exists. So this process kills the parent and waits for its end.
  ::kill(::getppid(), SIGKILL);
  while (::getppid() != 1) ::sched_yield();
}

/// Forks the guest on cgroup v2. A process gets into a cgroup at no cost only if it is made there.
/// A process that was there, even for a moment, counts there (`pids.peak`). So the C library's
/// fork(), which knows no cgroups, makes the copy outside. The copy then hands its memory on to a
/// process that is made inside.
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

/// Forks the guest; returns true in the guest. A guest must be a child of its cell's init, and only
/// orphans become that. So a process in between forks the guest and ends at once.
bool ForkInCell(pid_t (*fork)(), const init::Fork& request, int cgroup) {
  int* thread = cgroup < 0 ? nullptr : NumberOfThread();
  return thread == nullptr ? ForkByWay(fork, cgroup) : ForkBeside(fork, request, cgroup, thread);
}

/// Registers the thread's restartable sequences with the kernel. A process that has shared memory
/// has no such registration, and neither has its child.
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

/// Returns the number of descriptors before the cgroups.
std::size_t CountOwn(const init::Fork& fork) {
  constexpr std::size_t kNamespaces = 2;
  return FirstNamespace(fork) + (fork.moves ? kNamespaces : 0);
}

/// Moves the zygote itself to new namespaces: its guests are then made in them.
bool Move(const init::Fork& fork, std::span<const int> fds) {
  const std::size_t first = FirstNamespace(fork);
  return ::setns(fds[first], CLONE_NEWIPC) == 0 && ::setns(fds[first + 1], CLONE_NEWNET) == 0;
}

/// Sets the last PID, so that the guest's first child gets the PID after the guest's.
bool SetNumber(int last_number) {
  const std::string number = std::to_string(init::kGuestPid);
  return ::pwrite(last_number, number.data(), number.size(), 0) ==
         static_cast<ssize_t>(number.size());
}

/// What the guest does from its fork until it waits.
StepResult EnterCell(const init::Fork& fork, std::span<const int> fds) {
  if (fork.sets_number && !SetNumber(fds[init::kForkDescriptors])) {
    return StepResult::Failure(Stage::kCell, errno);
  }
  const std::string no_filter;
  init::NextCell next;
  next.join_count = fork.join_count;
  const StepResult dropped = init::GiveUpRights({no_filter, next, fds.subspan(CountOwn(fork))});
  if (!dropped.ok) return dropped;
  // As after an exec: the guest may read its own files in /proc.
  ::prctl(PR_SET_DUMPABLE, 1);
  return {};
}

/// Keeps two of the descriptors of the request: the cell's socket, at the number where it is looked
/// for, and the one that is returned. Returns none on failure. The interpreter's own descriptors
/// stay, since the interpreter knows of them.
UniqueFd KeepDescriptors(init::Descriptors& fds) {
  LastWordOfProgram().Map(fds[init::kForkWord]);
  const bool placed = ::dup3(fds[init::kForkSocket], init::kWarmSocket, O_CLOEXEC) >= 0;
  UniqueFd started = fds.Take(init::kForkStarted);
  fds.Close();
  return placed ? std::move(started) : UniqueFd();
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
    if (request.moves && !Move(request, received.fds.all())) continue;
    if (::setns(received.fds[init::kForkPids], CLONE_NEWPID) != 0) continue;
    const int cgroup = request.clone_into ? received.fds.all().back() : -1;
    // When it fails, the cell's init finds that there is no guest.
    if (!ForkInCell(fork, request, cgroup)) continue;
    RegisterSequences();
    const StepResult entered = EnterCell(request, received.fds.all());
    UniqueFd started = KeepDescriptors(received.fds);
    init::Send(init::kWarmSocket,
               entered.ok ? init::Encode(init::MessageKind::kDone) : init::Encode(entered.failed));
    if (!entered.ok || !started.valid()) ::_exit(127);
    return started.release();
  }
}

}  // namespace polybox::warm
