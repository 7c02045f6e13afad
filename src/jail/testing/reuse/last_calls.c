// System calls that may end the process that makes them, or take away what it needs to go on: its memory, its
// descriptors, its handlers of signals. A sequence makes them in a child, and one of them as its own last call.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#ifndef SYS_map_shadow_stack
#define SYS_map_shadow_stack 453
#endif

static char stack[1 << 16] __attribute__((aligned(4096)));

static void* NewPages(void) {
  return mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
static int Nothing(void* unused) {
  (void)unused;
  return 0;
}
static void Handler(int number) { (void)number; }

// Both programs ignore, or end at, the argument.
static char* const kArguments[] = {"guest", "end", NULL};
static const char* Program(void) { return Below(2) == 0 ? "/usr/bin/true" : "/guest"; }

static long Execute(void) { return execve(Program(), kArguments, NULL); }
static long ExecuteAt(void) {
  const int file = open(Program(), O_PATH | O_CLOEXEC);
  return syscall(SYS_execveat, file, "", kArguments, NULL, AT_EMPTY_PATH);
}
static long Exit(void) { return syscall(SYS_exit, 0); }
static long ExitGroup(void) { return syscall(SYS_exit_group, 0); }
static long Clone(void) {
  return clone(Nothing, stack + sizeof stack, CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD, NULL);
}
static long Kill(void) { return kill(getpid(), SIGWINCH); }
static long ReturnFromHandler(void) {
  signal(SIGUSR2, Handler);
  return raise(SIGUSR2);
}
static long SetHandler(void) {
  const struct sigaction action = {.sa_handler = Handler, .sa_flags = SA_ONSTACK | SA_NOCLDWAIT};
  return sigaction(SIGCHLD, &action, NULL);
}
static long BlockSignals(void) {
  sigset_t all;
  sigfillset(&all);
  return sigprocmask(SIG_BLOCK, &all, NULL);
}
static long SetSignalStack(void) {
  const stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
  return sigaltstack(&other, NULL);
}
static long SetTimer(void) {
  const struct itimerval interval = {{0, 700}, {0, 700}};
  return setitimer((int)Below(3), &interval, NULL);
}
static long CloseRange(void) { return syscall(SYS_close_range, 3, ~0U, Below(2) * 2); }
static long Map(void) {
  return mmap(stack, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED ? -1 : 0;
}
static long Unmap(void) { return munmap(NewPages(), 4096); }
static long Remap(void) {
  return mremap(NewPages(), 8192, 1 << 20, MREMAP_MAYMOVE) == MAP_FAILED ? -1 : 0;
}
static long Protect(void) { return mprotect(NewPages(), 8192, (int)Below(8)); }
static long ProtectByKey(void) { return syscall(SYS_pkey_mprotect, NewPages(), 8192, Below(4), -1); }
static long Advise(void) { return madvise(stack, sizeof stack, MADV_DONTNEED); }
static long LockAll(void) { return mlockall(MCL_FUTURE | MCL_ONFAULT); }
static long Break(void) { return syscall(SYS_brk, (char*)sbrk(0) + 65536) > 0 ? 0 : -1; }
static long AttachShared(void) {
  return shmat(shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600), NULL, 0) == (void*)-1 ? -1 : 0;
}
static long SetRobustList(void) {
  static long head[3];
  return syscall(SYS_set_robust_list, head, sizeof head);
}
static long SetTidAddress(void) { return syscall(SYS_set_tid_address, stack); }
static long SetRestartable(void) {
  static char area[32] __attribute__((aligned(32)));
  return syscall(SYS_rseq, area, sizeof area, 0, 0x53053053);
}
static long MapShadowStack(void) { return syscall(SYS_map_shadow_stack, 0, 4096, 0); }
#ifdef __x86_64__
static long Fork(void) {
  const pid_t child = (pid_t)syscall(SYS_fork);
  if (child == 0) _exit(0);
  return child;
}
static long VFork(void) {
  const pid_t child = vfork();
  if (child == 0) _exit(0);
  return child;
}
static long SetBase(void) { return syscall(SYS_arch_prctl, 0x1001, stack); }
static long Alarm(void) { return syscall(SYS_alarm, 1); }
#endif

static const struct {
  int number;
  /// Makes the call in a way in which the kernel does it; -1 and errno when it fails all the same.
  long (*make)(void);
} kCalls[] = {
    {SYS_execve, Execute},
    {SYS_execveat, ExecuteAt},
    {SYS_exit, Exit},
    {SYS_exit_group, ExitGroup},
    {SYS_clone, Clone},
    {SYS_kill, Kill},
    {SYS_rt_sigreturn, ReturnFromHandler},
    {SYS_rt_sigaction, SetHandler},
    {SYS_rt_sigprocmask, BlockSignals},
    {SYS_sigaltstack, SetSignalStack},
    {SYS_setitimer, SetTimer},
    {SYS_close_range, CloseRange},
    {SYS_mmap, Map},
    {SYS_munmap, Unmap},
    {SYS_mremap, Remap},
    {SYS_mprotect, Protect},
    {SYS_pkey_mprotect, ProtectByKey},
    {SYS_madvise, Advise},
    {SYS_mlockall, LockAll},
    {SYS_brk, Break},
    {SYS_shmat, AttachShared},
    {SYS_set_robust_list, SetRobustList},
    {SYS_set_tid_address, SetTidAddress},
    {SYS_rseq, SetRestartable},
    {SYS_map_shadow_stack, MapShadowStack},
#ifdef __x86_64__
    {SYS_fork, Fork},
    {SYS_vfork, VFork},
    {SYS_arch_prctl, SetBase},
    {SYS_alarm, Alarm},
#endif
};

static size_t Find(int number) {
  size_t i = 0;
  while (i < COUNT(kCalls) && kCalls[i].number != number) ++i;
  return i;
}

int MayEndTheCaller(int number) { return Find(number) < COUNT(kCalls); }

void MakeLastCall(int number) {
  const size_t call = number < 0 ? (size_t)Below(COUNT(kCalls)) : Find(number);
  if (Below(2) == 0) {
    kCalls[call].make();
  } else {
    AnyArguments(kCalls[call].number);
  }
}

void MakeLastCallInChild(int number) {
  const int waits = Below(2) == 0;
  const pid_t child = fork();
  if (child == 0) {
    // kill(0) reaches only this child.
    setsid();
    MakeLastCall(number);
    _exit(0);
  }
  // A timer interrupts the wait.
  if (waits) waitpid(child, NULL, 0);
}

int SayCalls(char* numbers) {
  for (char* word = strtok(numbers, ","); word != NULL; word = strtok(NULL, ",")) {
    const size_t call = Find(atoi(word));
    if (call == COUNT(kCalls)) {
      Say(word, "at random");
      continue;
    }
    const pid_t child = fork();
    if (child == 0) _exit(kCalls[call].make() == -1 ? errno : 0);
    int status = 0;
    waitpid(child, &status, 0);
    const int error = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    Say(word, "in a process of its own: %s", error == 0 ? "made" : error < 0 ? "killed" : strerror(error));
  }
  return 0;
}
