// Isolation grades: how strong a jail this host allows. Pure functions over the facts that
// sys/host_facts.h found, so that every kind of host can be tested on any machine.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sys/host_facts.h"

namespace polybox::jail {

/// Weakest first.
enum class Grade {
  kNone,      ///< Process control only.
  kLandlock,  ///< No namespaces: Landlock, seccomp and rlimits.
  kRootless,  ///< A user namespace with all the others in it; limits for each process instead of
              ///< cgroups.
  kFull,      ///< Namespaces, cgroups, seccomp and a host uid of its own for every slot.
};

/// Whether guests live in namespaces of their own.
constexpr bool HasNamespaces(Grade grade) {
  return grade >= Grade::kRootless;
}

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

/// The first thing that is missing for `grade`; null when the host can give it.
const HostCheck* MissingFor(const std::vector<HostCheck>& checks, Grade grade);

struct GradeWish {
  /// Below it nothing runs.
  Grade minimum = Grade::kRootless;
  /// Nothing means the best that the host gives; that is never kNone, which must be asked for.
  std::optional<Grade> wanted;
};

/// The grade to run in, or what is missing and what to do about it.
Result<Grade> ChooseGrade(const std::vector<HostCheck>& checks, const GradeWish& wish);

}  // namespace polybox::jail
