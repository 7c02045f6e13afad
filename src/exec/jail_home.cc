#include "exec/jail_home.h"

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
  POLYBOX_ASSIGN_OR_RETURN(jail::GuestFilter filter, jail::BuiltinGuestFilter(grade));
  return JailHome(grade, std::move(cgroups), std::move(filter));
}

Result<jail::Slot> JailHome::MakeSlot(const jail::Spec& spec, unsigned number) const {
  return jail::Slot::Make({.spec = spec,
                           .filter = filter_,
                           .cgroups = cgroups_ ? &*cgroups_ : nullptr,
                           .number = number});
}

}  // namespace polybox::exec
