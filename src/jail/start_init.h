// Starts the slot init by exec, in the cgroup where it belongs. Only slot.cc calls this.
#pragma once

#include <sys/types.h>

#include "base/result.h"
#include "base/unique_fd.h"
#include "jail/grade.h"
#include "sys/cgroup.h"

namespace polybox::jail {

struct StartedInit {
  /// A child of the server. The caller must kill and reap it.
  pid_t pid = -1;
  UniqueFd socket;
};

/// Starts a slot init and returns its PID and the server's end of its socket. `cgroup` may be null.
/// Any thread may call it.
Result<StartedInit> StartInit(Grade grade, const sys::SlotCgroup* cgroup);

}  // namespace polybox::jail
