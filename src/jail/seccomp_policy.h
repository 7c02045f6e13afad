// The system call policy: policies/seccomp.toml as rules. The file says what each rule is for.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/embedded_file.h"
#include "base/result.h"
#include "jail/grade.h"
#include "sys/seccomp.h"

namespace polybox::jail {

/// The policy files of the repository, as compiled into the binary.
std::span<const EmbeddedFile> PolicyFiles();

/// Every problem of the file is in the error, one per line: `file:line: ...`.
Result<sys::SeccompRules> ParseSeccompPolicy(std::string_view text, const std::string& file,
                                             Grade grade = Grade::kFull);

/// The policy that every guest of this grade runs under; guests of kNone run under none.
Result<sys::SeccompRules> BuiltinSeccompRules(Grade grade = Grade::kFull);

/// That policy as a slot needs it. The kernel translates a filter anew for every process that asks
/// for one, and what a process has its children get for nothing: so most of it is on the slot's
/// init, and guests ask for the rest.
struct GuestFilter {
  /// None in grades where the slot's init makes calls that no guest may.
  sys::SeccompProgram of_slot{{}};
  sys::SeccompProgram of_guest{{}};
};
Result<GuestFilter> BuiltinGuestFilter(Grade grade = Grade::kFull);

}  // namespace polybox::jail
