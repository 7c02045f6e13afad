// The system call policy: policies/seccomp.toml as rules. The policy file says what each rule is
// for. Any thread may call these functions.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/embedded_file.h"
#include "base/result.h"
#include "jail/grade.h"
#include "sys/seccomp.h"

namespace polybox::jail {

/// Returns the policy files of the repository, as compiled into the binary.
std::span<const EmbeddedFile> PolicyFiles();

/// Parses a policy. The error lists every problem of the file, one per line: `file:line: ...`.
Result<sys::SeccompRules> ParseSeccompPolicy(std::string_view text, const std::string& file,
                                             Grade grade = Grade::kFull);

/// Returns the policy for the guests of this grade. Guests of grade kNone run without a policy.
Result<sys::SeccompRules> BuiltinSeccompRules(Grade grade = Grade::kFull);

/// The policy, split in two filters. The kernel translates a filter anew for every process that
/// installs one, but a child inherits its parent's filters at no cost. So most of the policy is
/// installed on the slot init, which all guests descend from. Each guest installs the rest.
struct GuestFilter {
  /// Empty in grades where the slot init makes system calls that no guest may make.
  sys::SeccompProgram of_slot{{}};
  sys::SeccompProgram of_guest{{}};
};
Result<GuestFilter> BuiltinGuestFilter(Grade grade = Grade::kFull);

}  // namespace polybox::jail
