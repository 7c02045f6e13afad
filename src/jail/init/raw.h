// Raw system calls, and processes that share the memory of the process that makes them (CLONE_VM
// without CLONE_THREAD). Such a process is cheap: nothing is copied when it starts, and nothing is
// taken apart when it ends or executes a program.
//
// Three kinds of process share the slot init's memory, and each has one thread:
//
//  - a cell's init (cell_init.cc), from its clone in cell.cc until the cell ends;
//  - the guest that waits in a cell (waiting.cc), from its clone in cell_init.cc until its exec;
//  - without clone3, a helper that makes a cell's init (cell.cc), while the slot init is suspended.
//
// The slot init, a cell's init and a waiting guest run at the same time, without locks. These rules
// make that correct:
//
//  1. Only the slot init allocates. The allocator's state is in the shared memory, and the C
//     library assumes that a process without threads is its only user.
//  2. Only the slot init makes system calls through the C library. All these processes have the
//     same thread-local storage, so the same errno. The other processes use the calls below, which
//     return a negative errno. One exception, sigaction() in cell_init.cc, cannot fail. So these
//     processes own descriptors as numbers and close them with SYS_close: the destructor of
//     UniqueFd calls the C library. Slot init code that no other process runs uses UniqueFd.
//  3. Each process has its own stack. Those of a cell's init and of a guest have a guard page. A
//     stack is used again only after its last process has ended or has executed a program.
//  4. Every shared object has one writer at a time. A message, or the wait for the end of a
//     process, hands an object over. Its declaration says which process may write it when. A slot
//     has one cell at a time and one waiting guest, so one object of each kind is enough.
//  5. An object of the slot init outlives its readers, or is kept until they have answered. Without
//     an answer the slot init kills the cell and waits for its end (KillCell() in cell.cc).
//  6. Signal handlers are not shared. Descriptor tables are shared only with the helper.
//
// docs/design/jail.md lists the test of each rule.
//
// When the kernel kills one of these processes for want of memory, it kills all of them: see
// LeastMemory() in resource_limits.h.
#pragma once

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <new>
#include <span>
#include <type_traits>

#include <linux/sched.h>
#include <sys/syscall.h>

namespace polybox::jail::init {

/// Inlined, without a stack frame of its own: some calls return a second time in another process on
/// the same stack.
[[gnu::always_inline]] inline long RawCall(long number, long a, long b, long c, long d, long e) {
#if defined(__x86_64__)
  long result = 0;
  register long fourth asm("r10") = d;
  register long fifth asm("r8") = e;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth)
               : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long which asm("x8") = number;
  register long first asm("x0") = a;
  register long second asm("x1") = b;
  register long third asm("x2") = c;
  register long fourth asm("x3") = d;
  register long fifth asm("x4") = e;
  asm volatile("svc #0"
               : "+r"(first)
               : "r"(which), "r"(second), "r"(third), "r"(fourth), "r"(fifth)
               : "memory");
  return first;
#else
#error "how is a system call made here?"
#endif
}

template <typename Value>
[[gnu::always_inline]] inline long AsWord(Value value) {
  if constexpr (std::is_pointer_v<Value>) {
    return reinterpret_cast<long>(value);
  } else if constexpr (std::is_null_pointer_v<Value>) {
    return 0;
  } else {
    return static_cast<long>(value);
  }
}

/// Makes a system call with up to five arguments: numbers and pointers. Returns a negative errno
/// on failure and leaves errno alone.
template <typename A = int, typename B = int, typename C = int, typename D = int, typename E = int>
[[gnu::always_inline]] inline long Raw(long number, A a = {}, B b = {}, C c = {}, D d = {},
                                       E e = {}) {
  return RawCall(number, AsWord(a), AsWord(b), AsWord(c), AsWord(d), AsWord(e));
}

/// Ends the calling process at once, without destructors or exit handlers, which belong to the slot
/// init.
[[noreturn]] inline void RawExit(int code) {
  while (true) Raw(SYS_exit_group, code);
}

/// Returns whether clone3 can be called. Seccomp profiles of containers refuse clone3, because a
/// filter cannot read its arguments. The kernel itself answers a call without arguments with
/// EINVAL.
inline bool HasClone3() {
  return Raw(SYS_clone3, nullptr, 0) == -EINVAL;
}

/// A call of clone3 or clone. Both return a second time, in the new process on another stack.
struct CloneCall {
  long number = 0;
  long arguments[5] = {};
};

/// Makes the call. The parent gets the result. The new process starts with an empty stack, so it
/// cannot return into this function: it calls `main(argument)`, which must not return.
[[gnu::noinline]] inline long CallInto(const CloneCall& call, void (*main)(void*), void* argument) {
#if defined(__x86_64__)
  long result = 0;
  register void (*entry)(void*) asm("r12") = main;
  register void* given asm("r13") = argument;
  register long fourth asm("r10") = call.arguments[3];
  register long fifth asm("r8") = call.arguments[4];
  asm volatile(
      "syscall\n\t"
      "test %%rax, %%rax\n\t"
      "jnz 1f\n\t"
      "xor %%ebp, %%ebp\n\t"
      "mov %%r13, %%rdi\n\t"
      "call *%%r12\n\t"
      "ud2\n"
      "1:"
      : "=a"(result)
      : "a"(call.number), "D"(call.arguments[0]), "S"(call.arguments[1]), "d"(call.arguments[2]),
        "r"(fourth), "r"(fifth), "r"(entry), "r"(given)
      : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long which asm("x8") = call.number;
  register long first asm("x0") = call.arguments[0];
  register long second asm("x1") = call.arguments[1];
  register long third asm("x2") = call.arguments[2];
  register long fourth asm("x3") = call.arguments[3];
  register long fifth asm("x4") = call.arguments[4];
  register void (*entry)(void*) asm("x19") = main;
  register void* given asm("x20") = argument;
  asm volatile(
      "svc #0\n\t"
      "cbnz x0, 1f\n\t"
      "mov x29, #0\n\t"
      "mov x30, #0\n\t"
      "mov x0, x20\n\t"
      "blr x19\n\t"
      "brk #1\n"
      "1:"
      : "+r"(first)
      : "r"(which), "r"(second), "r"(third), "r"(fourth), "r"(fifth), "r"(entry), "r"(given)
      : "memory");
  return first;
#endif
}

// Enough for every signal of the kernel, one bit each.
using SignalMask = std::uint64_t;

/// What a process without clone3 does before its main function: clone has no CLONE_CLEAR_SIGHAND.
/// The record lies at the top of the new process's stack, because the parent's stack frame may be
/// gone when the new process reads it.
struct alignas(16) PlainBirth {
  void (*main)(void*);
  void* argument;
  bool clears_handlers;
  /// The signal mask of the parent before it blocked all signals.
  SignalMask mask;
};

/// Sets every signal that has a handler to its default action. Signals that are ignored stay so.
/// Handlers are not shared, so the parent keeps its own.
inline void ClearHandlers() {
  constexpr int kSignals = 64;
  constexpr std::uintptr_t kIgnored = 1;
  for (int signal = 1; signal <= kSignals; ++signal) {
    // The kernel's own structure begins with the handler; all zero is the default action.
    std::uintptr_t action[4] = {};
    Raw(SYS_rt_sigaction, signal, nullptr, action, sizeof(SignalMask));
    if (action[0] <= kIgnored) continue;
    constexpr std::uintptr_t kDefault[4] = {};
    Raw(SYS_rt_sigaction, signal, kDefault, nullptr, sizeof(SignalMask));
  }
}

/// The first function of a process that ClonePlainly() makes.
inline void BeginPlainly(void* given) {
  const PlainBirth& birth = *static_cast<const PlainBirth*>(given);
  if (birth.clears_handlers) {
    ClearHandlers();
    Raw(SYS_rt_sigprocmask, SIG_SETMASK, &birth.mask, nullptr, sizeof birth.mask);
  }
  birth.main(birth.argument);
}

/// Does what CloneSharing() does, by the older clone.
inline long ClonePlainly(const clone_args& args, std::span<char> stack, void (*main)(void*),
                         void* argument) {
  const bool clears = (args.flags & CLONE_CLEAR_SIGHAND) != 0;
  // No handler of the parent may run in the new process, which has the parent's memory and
  // handlers. So all signals are blocked until the new process has cleared its handlers.
  constexpr SignalMask kAll = ~SignalMask{0};
  SignalMask mask = 0;
  if (clears) Raw(SYS_rt_sigprocmask, SIG_SETMASK, &kAll, &mask, sizeof mask);
  char* top = stack.data() + stack.size() - sizeof(PlainBirth);
  auto* birth = new (top) PlainBirth{main, argument, clears, mask};
  constexpr std::uint64_t kOfClone = 0xFFFFFFFFU;
  CloneCall call;
  call.number = SYS_clone;
  call.arguments[0] = static_cast<long>((args.flags & kOfClone) | args.exit_signal);
  call.arguments[1] = AsWord(top);
  // clone has one argument for both pointers: no caller asks for both.
  call.arguments[2] = static_cast<long>(args.pidfd != 0 ? args.pidfd : args.parent_tid);
  const long result = CallInto(call, BeginPlainly, birth);
  if (clears) Raw(SYS_rt_sigprocmask, SIG_SETMASK, &mask, nullptr, sizeof mask);
  return result;
}

/// Runs `main(argument)` in a new process that shares the caller's memory, on the stack `stack`.
/// Returns its PID, or a negative errno. `main` must not return and must keep the rules at the top
/// of this file. `stack` and what `argument` points to must be valid for as long as the new process
/// uses them. The caller goes on at once unless `args` has CLONE_VFORK. `args` itself is read only
/// during the call. Without clone3 the new process starts in the cgroup of its parent, whatever
/// `args` asks for: see JoinCgroups() in guest.cc.
[[gnu::noinline]] inline long CloneSharing(clone_args args, std::span<char> stack,
                                           void (*main)(void*), void* argument) {
  args.flags |= CLONE_VM;
  if (!HasClone3()) return ClonePlainly(args, stack, main, argument);
  args.stack = reinterpret_cast<std::uint64_t>(stack.data());
  args.stack_size = stack.size();
  return CallInto({SYS_clone3, {AsWord(&args), sizeof args}}, main, argument);
}

}  // namespace polybox::jail::init
