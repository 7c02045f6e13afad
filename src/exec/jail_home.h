// Where slots come from in this process: the grade, the cgroups above them, the filter that their
// guests get. Made once. Any thread.
#pragma once

#include <optional>

#include "base/result.h"
#include "jail/grade.h"
#include "jail/seccomp_policy.h"
#include "jail/slot.h"
#include "sys/cgroup.h"

namespace polybox::exec {

class JailHome {
 public:
  /// Sweeps up what dead servers left behind first.
  static Result<JailHome> Make(jail::Grade grade);

  jail::Grade grade() const { return grade_; }
  /// `number` distinguishes the slots of this process that live at the same time. The slot ends
  /// when the calling thread does.
  Result<jail::Slot> MakeSlot(const jail::Spec& spec, unsigned number) const;

 private:
  JailHome(jail::Grade grade, std::optional<sys::CgroupHome> cgroups, jail::GuestFilter filter)
      : grade_(grade), cgroups_(std::move(cgroups)), filter_(std::move(filter)) {}

  jail::Grade grade_;
  std::optional<sys::CgroupHome> cgroups_;
  jail::GuestFilter filter_;
};

}  // namespace polybox::exec
