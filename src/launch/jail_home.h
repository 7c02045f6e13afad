// Makes the slots of this process. It knows what all slots have in common: the grade, the cgroup
// above them, and the seccomp filter of their guests. Made once at the start. After the setters
// were called, any thread may use it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "jail/grade.h"
#include "jail/lease.h"
#include "jail/seccomp_policy.h"
#include "jail/slot.h"
#include "sys/cgroup.h"

namespace polybox::launch {

class JailHome {
 public:
  /// Removes cgroups and scratch directories that dead servers left behind, then prepares the
  /// grade.
  static Result<JailHome> Make(jail::Grade grade, jail::Uids uids = jail::UsualUids());

  jail::Grade grade() const { return grade_; }
  jail::Uids uids() const { return uids_; }
  /// Reasons why the isolation is not stronger, a sentence each. Every answer includes them.
  const std::vector<std::string>& notes() const { return notes_; }
  void SetNotes(std::vector<std::string> notes) { notes_ = std::move(notes); }
  /// Sets jail::SlotOptions::reuse of all slots that are made from now on.
  void SetReuse(bool reuse) { reuse_ = reuse; }
  /// Makes a slot. `number` distinguishes the slots of this process that exist at the same time.
  /// The slot ends when the calling thread ends.
  Result<jail::Slot> MakeSlot(const jail::Spec& spec, unsigned number) const;
  /// Makes a lease. `number` as in MakeSlot(). `limits` are those of all its processes together.
  Result<std::unique_ptr<jail::Lease>> MakeLease(const jail::Spec& spec, unsigned number,
                                                 const sys::CgroupLimits& limits) const;

 private:
  jail::SlotOptions OptionsFor(const jail::Spec& spec, unsigned number) const;
  JailHome(jail::Grade grade, jail::Uids uids, std::optional<sys::CgroupHome> cgroups,
           jail::GuestFilter filter)
      : grade_(grade), uids_(uids), cgroups_(std::move(cgroups)), filter_(std::move(filter)) {}

  jail::Grade grade_;
  jail::Uids uids_;
  bool reuse_ = true;
  std::vector<std::string> notes_;
  /// Absent in grades without cgroups. The slots refer to it, so this object must outlive them.
  std::optional<sys::CgroupHome> cgroups_;
  jail::GuestFilter filter_;
};

}  // namespace polybox::launch
