// Where slots come from in this process: the grade, the cgroups above them, the filter that their
// guests get. Made once. Any thread.
#pragma once

#include <optional>

#include "base/result.h"
#include "jail/grade.h"
#include "jail/slot.h"
#include "sys/cgroup.h"
#include "sys/seccomp.h"

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
  JailHome(jail::Grade grade, std::optional<sys::CgroupHome> cgroups, sys::SeccompProgram seccomp)
      : grade_(grade), cgroups_(std::move(cgroups)), seccomp_(std::move(seccomp)) {}

  jail::Grade grade_;
  std::optional<sys::CgroupHome> cgroups_;
  sys::SeccompProgram seccomp_;
};

}  // namespace polybox::exec
