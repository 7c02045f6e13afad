// Runs code of a test in a child process under a system call filter, and reports how the child
// ended.
#pragma once

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <ostream>
#include <span>
#include <unistd.h>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "sys/seccomp.h"

namespace polybox::sys::testing {

struct Fate {
  /// The signal that killed the child, or 0.
  int signal = 0;
  /// The return value of the code, at most 255.
  int code = 0;

  friend bool operator==(const Fate&, const Fate&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Fate& fate) {
    return out << "signal " << fate.signal << ", code " << fate.code;
  }
};

inline constexpr Fate kKilled{SIGSYS, 0};
/// The expected Fate when the code is a system call that fails with `error`; 0 when the call works.
inline constexpr Fate FailsWith(int error) {
  return {0, error};
}

/// Makes the system call. Returns its errno, or 0 when it worked.
template <typename... Args>
int ErrnoOf(long number, Args... arguments) {
  return ::syscall(number, arguments...) < 0 ? errno : 0;
}

/// Installs the filter on the calling thread, permanently. Returns 0 or the errno. The thread needs
/// no_new_privs or CAP_SYS_ADMIN; this function sets neither.
inline int InstallSeccomp(const SeccompProgram& program) {
  const std::span<const sock_filter> instructions = program.instructions();
  const sock_fprog filter{static_cast<unsigned short>(instructions.size()),
                          const_cast<sock_filter*>(instructions.data())};
  return ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) == 0 ? 0 : errno;
}

/// Runs `code` in a child under `program`. If `program` is null, no filter is installed.
template <typename Code>
Fate RunFiltered(const SeccompProgram* program, Code code) {
  const pid_t pid = ::fork();
  if (pid < 0) std::abort();
  if (pid == 0) {
    constexpr rlimit kNoCore{0, 0};
    constexpr unsigned kSeconds = 20;
    ::setrlimit(RLIMIT_CORE, &kNoCore);
    ::alarm(kSeconds);
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (program != nullptr && InstallSeccomp(*program) != 0) ::_exit(255);
    // The exit is a direct system call: before a function that does not return, sanitizers make
    // calls that the filter may refuse.
    ::syscall(SYS_exit_group, code());
    ::_exit(255);
  }
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) return {WTERMSIG(status), 0};
  return {0, WEXITSTATUS(status)};
}

}  // namespace polybox::sys::testing
