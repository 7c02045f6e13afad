// System calls, and processes that share the memory of whoever makes them. Such a process is cheap:
// nothing is copied when it starts and nothing taken apart when it ends or becomes a program. But
// it may not allocate, and may not use the C library's system calls either, which leave errno where
// the other process looks for its own. These return a negative errno instead.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>

#include <linux/sched.h>
#include <sys/syscall.h>

namespace polybox::jail::init {

/// Without a frame of its own: some calls return twice on one stack.
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

template <typename A = int, typename B = int, typename C = int, typename D = int, typename E = int>
[[gnu::always_inline]] inline long Raw(long number, A a = {}, B b = {}, C c = {}, D d = {},
                                       E e = {}) {
  return RawCall(number, AsWord(a), AsWord(b), AsWord(c), AsWord(d), AsWord(e));
}

[[noreturn]] inline void RawExit(int code) {
  while (true) Raw(SYS_exit_group, code);
}

/// Runs `main(argument)`, which does not return, in a new process that shares our memory, on a
/// stack of its own. Its number, or a negative errno.
[[gnu::noinline]] inline long CloneSharing(clone_args args, std::span<char> stack,
                                           void (*main)(void*), void* argument) {
  args.flags |= CLONE_VM;
  args.stack = reinterpret_cast<std::uint64_t>(stack.data());
  args.stack_size = stack.size();
#if defined(__x86_64__)
  long result = 0;
  register void (*entry)(void*) asm("r12") = main;
  register void* given asm("r13") = argument;
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
      : "a"(SYS_clone3), "D"(&args), "S"(sizeof args), "r"(entry), "r"(given)
      : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long which asm("x8") = SYS_clone3;
  register long first asm("x0") = reinterpret_cast<long>(&args);
  register long second asm("x1") = sizeof args;
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
      : "r"(which), "r"(second), "r"(entry), "r"(given)
      : "memory");
  return first;
#endif
}

}  // namespace polybox::jail::init
