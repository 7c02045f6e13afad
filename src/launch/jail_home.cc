#include "launch/jail_home.h"

#include "sys/cgroup_tree.h"

namespace polybox::launch {

Result<JailHome> JailHome::Make(jail::Grade grade, jail::Uids uids) {
  const auto hierarchies = sys::ReadCgroups();
  sys::SweepLeftovers(hierarchies);
  jail::SweepScratchHomes();
  std::optional<sys::CgroupHome> cgroups;
  if (grade == jail::Grade::kFull) {
    POLYBOX_ASSIGN_OR_RETURN(cgroups, sys::CgroupHome::Make(hierarchies));
  }
  POLYBOX_ASSIGN_OR_RETURN(jail::GuestFilter filter, jail::BuiltinGuestFilter(grade));
  return JailHome(grade, uids, std::move(cgroups), std::move(filter));
}

jail::SlotOptions JailHome::OptionsFor(const jail::Spec& spec, unsigned number) const {
  jail::Spec own = spec;
  own.privileged = uids_ == jail::Uids::kOwn;
  return {.spec = std::move(own),
          .filter = filter_,
          .cgroups = cgroups_ ? &*cgroups_ : nullptr,
          .number = number,
          .reuse = reuse_};
}

Result<jail::Slot> JailHome::MakeSlot(const jail::Spec& spec, unsigned number) const {
  return jail::Slot::Make(OptionsFor(spec, number));
}

Result<std::unique_ptr<jail::Lease>> JailHome::MakeLease(const jail::Spec& spec, unsigned number,
                                                         const sys::CgroupLimits& limits) const {
  return jail::Lease::Make({.slot = OptionsFor(spec, number), .limits = limits});
}

}  // namespace polybox::launch
