// System call filters: rules as plain data, compiled to a BPF program that a process puts on
// itself. What the rules are is not decided here: see jail/seccomp_policy.h.
#pragma once

#include <cerrno>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <linux/filter.h>

#include "base/result.h"

namespace polybox::sys {

enum class SeccompAction {
  kAllow,
  kErrno,  ///< The call is not made and fails.
  kKill,   ///< The process dies by SIGSYS, with all its threads.
};

struct SeccompVerdict {
  SeccompAction action = SeccompAction::kErrno;
  /// For kErrno only.
  int error = 0;

  friend bool operator==(const SeccompVerdict&, const SeccompVerdict&) = default;
};

enum class SeccompCompare {
  kEquals,  ///< The argument is one of the values.
  kHasBit,  ///< The argument has a bit of one of the values.
};

/// Looks at the low 32 bits of one argument, for that is what the kernel takes of an `int`. A
/// pointer's target is out of a filter's reach.
struct SeccompCase {
  unsigned argument = 0;  ///< 0 to 5
  SeccompCompare compare = SeccompCompare::kEquals;
  std::vector<std::uint32_t> values;
  SeccompVerdict verdict;
};

struct SeccompRule {
  /// The kernel's name of the call.
  std::string syscall;
  /// Its number, for a call that the installed libseccomp may be too old to know by name.
  std::optional<int> number;
  /// Holds when none of `cases` does; the first that fits wins.
  SeccompVerdict verdict;
  std::vector<SeccompCase> cases;
  /// See Split().
  bool closed_last = false;
};

struct SeccompRules {
  /// For every call that no rule names, those of future kernels too.
  SeccompVerdict otherwise{SeccompAction::kErrno, ENOSYS};
  std::vector<SeccompRule> rules;
};

/// One filter as two that decide as it does when a process has both.
struct SeccompParts {
  /// For who still has to make the calls that are `closed_last`: allows them whatever their rules.
  SeccompRules first;
  /// Their rules, and nothing else.
  SeccompRules last;
};
SeccompParts Split(const SeccompRules& rules);

/// A filter for the architecture polybox was built for. Immutable.
class SeccompProgram {
 public:
  explicit SeccompProgram(std::vector<sock_filter> instructions)
      : instructions_(std::move(instructions)) {}

  std::span<const sock_filter> instructions() const { return instructions_; }
  /// The same, for a message.
  std::string_view bytes() const {
    return {reinterpret_cast<const char*>(instructions_.data()),
            instructions_.size() * sizeof(sock_filter)};
  }

 private:
  std::vector<sock_filter> instructions_;
};

/// Calls through another ABI (i386, x32) are killed. A rule for a call that only other
/// architectures have is left out; a name that no architecture knows, and a call with two rules,
/// are errors.
Result<SeccompProgram> CompileSeccomp(const SeccompRules& rules);

/// Puts the filter on the calling thread, for good: 0, or the errno. Needs no_new_privs (or
/// CAP_SYS_ADMIN) and sets nothing else. Async-signal-safe: for a child between fork and exec.
int InstallSeccomp(const SeccompProgram& program) noexcept;

}  // namespace polybox::sys
