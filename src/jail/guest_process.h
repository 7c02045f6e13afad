// What the server does to processes of a slot from outside. Used by slot.cc; the pids and
// descriptors are those that a slot init has told.
#pragma once

#include <cstdint>

#include <sys/types.h>

#include "base/result.h"

namespace polybox::jail {

/// What the process holds and shares with no file; nothing when there is no such process.
std::uint64_t PrivateBytes(pid_t pid);

/// One CPU, the one we are on: where it was handed to us, its caches are warm. An interpreter that
/// has started already may have several threads.
Status KeepOnOneCpu(pid_t pid);

/// Where no cgroup counts, processes that nobody reaps are not accounted for, and once its init is
/// killed, nobody in a pod is reaped. So that (a pidfd, borrowed) kills the others first.
void KillAllButInit(int pod);

}  // namespace polybox::jail
