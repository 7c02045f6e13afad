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

/// From the weakest to the strongest; the comparison operators rely on this order.
enum class Grade {
  kNone,      ///< Process control only.
  kLandlock,  ///< No namespaces: Landlock, seccomp and rlimits.
  kRootless,  ///< All namespaces inside a user namespace. Instead of cgroups there are a watchdog
              ///< and limits for each process.
  kFull,      ///< Namespaces, cgroups, seccomp and a host uid of its own for every slot.
};

/// Which uids guests have on the host.
enum class Uids {
  kOwn,     ///< Uids that belong to their slot. Needs root with the capabilities to switch to other
            ///< uids.
  kShared,  ///< The uid of the polybox server.
};

/// Returns the uids to assume where the host has not been checked: kOwn if the caller is root.
Uids UsualUids();

/// The name of the HostCheck that says whether guests can have uids of their own.
inline constexpr std::string_view kOwnUidsCheck = "own uid per slot";

/// Returns whether guests of this grade live in namespaces of their own.
constexpr bool HasNamespaces(Grade grade) {
  return grade >= Grade::kRootless;
}

/// Returns a note on how the limits of a whole run are enforced in that grade. Returns "" where
/// cgroups enforce them.
std::string LimitsNote(Grade grade);

std::string_view GradeName(Grade grade);
std::optional<Grade> ParseGrade(std::string_view name);

/// One host facility that the jail is built from: whether this host has the facility, what its
/// absence costs, and how to get it.
struct HostCheck {
  std::string name;
  bool ok = false;
  /// Whether the check was not made, because it depends on a facility that is missing too. Another
  /// check reports that facility.
  bool untried = false;
  /// What the check found: "ABI 7", "Operation not permitted".
  std::string found;
  std::string cost;
  std::string fix;
  /// The best grade that is possible without the facility; nothing when the grade does not depend
  /// on it.
  std::optional<Grade> without;
  /// Whether only grades without namespaces need the facility. It has no bearing on the grades with
  /// namespaces.
  bool bare_only = false;
};

/// Returns one check for each facility. A pure function of `facts`.
std::vector<HostCheck> CheckHost(const sys::HostFacts& facts);

/// Returns the best grade this host can give: the lowest `without` among the checks that failed.
Grade BestGrade(const std::vector<HostCheck>& checks);

/// Returns the first failed check that rules out `grade`; null when the host can give that grade.
const HostCheck* MissingFor(const std::vector<HostCheck>& checks, Grade grade);

struct GradeWish {
  /// Polybox refuses to run anything in a weaker grade.
  Grade minimum = Grade::kRootless;
  /// The grade to use. Nothing means the best that the host gives. That choice never falls to
  /// kNone, which an operator must ask for by name.
  std::optional<Grade> wanted;
};

/// Returns the grade to run in, or an error that names the missing facility and its remedy.
Result<Grade> ChooseGrade(const std::vector<HostCheck>& checks, const GradeWish& wish);

}  // namespace polybox::jail
