// The system calls that the built-in filter allows, as numbers and by name. Any thread may call
// these functions.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <seccomp.h>
#include <string>

#include <fmt/format.h>

#include "jail/seccomp_policy.h"

namespace polybox::jail {

/// Returns the numbers of all system calls that the filter allows, at least with some arguments,
/// with a comma after each.
inline std::string AllowedCalls() {
  std::string numbers;
  const sys::SeccompRules rules = BuiltinSeccompRules().value();
  for (const sys::SeccompRule& rule : rules.rules) {
    const auto allows = [](const sys::SeccompVerdict& verdict) {
      return verdict.action == sys::SeccompAction::kAllow ||
             verdict.action == sys::SeccompAction::kAsk;
    };
    const bool allowed =
        allows(rule.verdict) || std::ranges::any_of(rule.cases, allows, &sys::SeccompCase::verdict);
    const int known = ::seccomp_syscall_resolve_name(rule.syscall.c_str());
    const int number = known == __NR_SCMP_ERROR ? rule.number.value_or(-1) : known;
    if (allowed && number >= 0) numbers += fmt::format("{},", number);
  }
  return numbers;
}

/// Returns the name of the call with this number, or the number if it has none.
inline std::string CallName(const std::string& number) {
  char* name = ::seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, std::stoi(number));
  std::string copy = name == nullptr ? number : name;
  std::free(name);
  return copy;
}

}  // namespace polybox::jail
