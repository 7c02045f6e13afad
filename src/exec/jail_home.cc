#include "exec/jail_home.h"

#include "jail/seccomp_policy.h"
#include "sys/cgroup_tree.h"

namespace polybox::exec {

Result<JailHome> JailHome::Make(jail::Grade grade) {
  const auto hierarchies = sys::ReadCgroups();
  sys::SweepLeftovers(hierarchies);
  jail::SweepScratchHomes();
  std::optional<sys::CgroupHome> cgroups;
  if (grade == jail::Grade::kFull) {
    POLYBOX_ASSIGN_OR_RETURN(cgroups, sys::CgroupHome::Make(hierarchies));
  }
  sys::SeccompProgram program({});
  if (grade != jail::Grade::kNone) {
    POLYBOX_ASSIGN_OR_RETURN(const sys::SeccompRules rules, jail::BuiltinSeccompRules(grade));
    POLYBOX_ASSIGN_OR_RETURN(program, sys::CompileSeccomp(rules));
  }
  return JailHome(grade, std::move(cgroups), std::move(program));
}

Result<jail::Slot> JailHome::MakeSlot(const jail::Spec& spec, unsigned number) const {
  return jail::Slot::Make({.spec = spec,
                           .seccomp = seccomp_,
                           .cgroups = cgroups_ ? &*cgroups_ : nullptr,
                           .number = number});
}

}  // namespace polybox::exec
