// Runs a piece of a test in a child under a system call filter, and says what became of it.
#pragma once

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <ostream>
#include <unistd.h>

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "sys/seccomp.h"

namespace polybox::sys::testing {

struct Fate {
  /// The signal it died by, or 0.
  int signal = 0;
  /// What the code returned (to 255).
  int code = 0;

  friend bool operator==(const Fate&, const Fate&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Fate& fate) {
    return out << "signal " << fate.signal << ", code " << fate.code;
  }
};

inline constexpr Fate kKilled{SIGSYS, 0};
/// The code was a call that failed so; 0 when it worked.
inline constexpr Fate FailsWith(int error) {
  return {0, error};
}

/// The errno of a call, 0 when it worked.
template <typename... Args>
int ErrnoOf(long number, Args... arguments) {
  return ::syscall(number, arguments...) < 0 ? errno : 0;
}

/// `program` may be null: then nothing is filtered.
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
    // Before a function that does not return, sanitizers make calls that the filter may refuse.
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
