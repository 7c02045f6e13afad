// Starts the slot init: by exec, in the cgroup where it belongs.
#pragma once

#include <sys/types.h>

#include "base/result.h"
#include "base/unique_fd.h"
#include "jail/grade.h"
#include "sys/cgroup.h"

namespace polybox::jail {

struct StartedInit {
  /// A child of ours, to be killed and reaped by who asked for it.
  pid_t pid = -1;
  UniqueFd socket;
};

/// `cgroup` may be null. Any thread may call it.
Result<StartedInit> StartInit(Grade grade, const sys::SlotCgroup* cgroup);

}  // namespace polybox::jail
