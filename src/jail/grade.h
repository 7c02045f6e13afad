// Isolation grades: how strong a jail this host allows. Pure functions over the facts that
// sys/host_facts.h found, so that every kind of host can be tested on any machine.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sys/host_facts.h"

namespace polybox::jail {

/// Weakest first.
enum class Grade {
  kNone,      ///< Process control only.
  kLandlock,  ///< No namespaces: Landlock, seccomp and rlimits.
  kRootless,  ///< A user namespace with all the others in it; rlimits and a watchdog instead of
              ///< cgroups.
  kFull,      ///< Namespaces, cgroups, seccomp and a host uid of its own for every slot.
};

std::string_view GradeName(Grade grade);
std::optional<Grade> ParseGrade(std::string_view name);

/// One thing the jail is built from: whether this host has it, and if not, what that costs and what
/// to do.
struct HostCheck {
  std::string name;
  bool ok = false;
  /// What was found: "ABI 7", "Operation not permitted".
  std::string found;
  std::string cost;
  std::string fix;
  /// The best grade without it; nothing when the grade does not depend on it.
  std::optional<Grade> without;
};

std::vector<HostCheck> CheckHost(const sys::HostFacts& facts);

/// The best grade this host can give: that of its weakest check.
Grade BestGrade(const std::vector<HostCheck>& checks);

}  // namespace polybox::jail
