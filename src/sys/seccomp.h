// System call filters: rules as plain data, compiled to a BPF program that a process installs on
// itself. The rules themselves are in jail/seccomp_policy.h.
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
  kErrno,  ///< The kernel does not make the call; the caller gets an error.
  kKill,   ///< The process dies by SIGSYS, with all its threads.
  kAsk,    ///< The filter's listener decides. Without a listener the call fails with ENOSYS.
};

struct SeccompVerdict {
  SeccompAction action = SeccompAction::kErrno;
  /// The errno, for kErrno only. With 0 the caller sees a success.
  int error = 0;

  friend bool operator==(const SeccompVerdict&, const SeccompVerdict&) = default;
};

enum class SeccompCompare {
  kEquals,       ///< The argument is one of the values.
  kEqualsWhole,  ///< The argument is one of the values, and its high 32 bits are 0.
  kHasBit,       ///< The argument has a bit of one of the values.
  kHasNoBit,     ///< The argument has no bit of any of the values.
};

/// Compares the low 32 bits of one argument, because the kernel uses only these of an `int`. For a
/// pointer use kEqualsWhole. A filter cannot read the memory behind a pointer.
struct SeccompCondition {
  unsigned argument = 0;  ///< 0 to 5
  SeccompCompare compare = SeccompCompare::kEquals;
  std::vector<std::uint32_t> values;
};

/// Decides a call when the first condition (`argument`, `compare`, `values`) and all conditions in
/// `also` hold.
struct SeccompCase {
  unsigned argument = 0;  ///< 0 to 5
  SeccompCompare compare = SeccompCompare::kEquals;
  std::vector<std::uint32_t> values;
  SeccompVerdict verdict;
  std::vector<SeccompCondition> also = {};
};

struct SeccompRule {
  /// The kernel's name of the system call.
  std::string syscall;
  /// The number of the system call, when the installed libseccomp may be too old to know its name.
  std::optional<int> number;
  /// The verdict when no case in `cases` matches. The first matching case wins.
  SeccompVerdict verdict;
  std::vector<SeccompCase> cases;
  /// Whether Split() moves this rule to `SeccompParts::last`.
  bool closed_last = false;
};

struct SeccompRules {
  /// The verdict for every system call without a rule, including those of future kernels.
  SeccompVerdict otherwise{SeccompAction::kErrno, ENOSYS};
  std::vector<SeccompRule> rules;
};

/// One filter split into two. A process with both parts installed gets the same decisions as with
/// the whole filter.
struct SeccompParts {
  /// Installed first. Allows every `closed_last` call, whatever its rule says, because the process
  /// still has to make these calls.
  SeccompRules first;
  /// Installed last. Contains only the rules of the `closed_last` calls.
  SeccompRules last;
};
SeccompParts Split(const SeccompRules& rules);

/// A compiled filter for the architecture that polybox was built for. Immutable, so threads may
/// share it.
class SeccompProgram {
 public:
  explicit SeccompProgram(std::vector<sock_filter> instructions)
      : instructions_(std::move(instructions)) {}

  std::span<const sock_filter> instructions() const { return instructions_; }
  /// The instructions as bytes, to send them to another process.
  std::string_view bytes() const {
    return {reinterpret_cast<const char*>(instructions_.data()),
            instructions_.size() * sizeof(sock_filter)};
  }

 private:
  std::vector<sock_filter> instructions_;
};

/// Compiles `rules`. Calls through another ABI (i386, x32) are killed. A rule for a call that
/// exists only on other architectures is left out. A name that no architecture knows, and a call
/// with two rules, are errors.
Result<SeccompProgram> CompileSeccomp(const SeccompRules& rules);

}  // namespace polybox::sys
