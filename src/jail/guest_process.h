// What the server does to processes of a slot from outside the jail. Only slot.cc calls these
// functions, with PIDs and descriptors that the slot init has reported.
#pragma once

#include <cstdint>

#include <sys/types.h>

#include "base/result.h"

namespace polybox::jail {

/// Returns the resident bytes of the process that are not shared with a file or another mapping.
/// Returns 0 when there is no such process.
std::uint64_t PrivateBytes(pid_t pid);

/// Restricts all threads of the process to the CPU that the caller runs on. The server touched the
/// guest's data on that CPU, so its caches are warm. An interpreter that has started already may
/// have several threads, so every thread is restricted.
Status KeepOnOneCpu(pid_t pid);

/// Kills all processes of a cell except its init, and waits up to 500 ms for the init to end.
/// `cell` (borrowed) is the pidfd of the init. Needed where no cgroup counts processor time: the
/// kernel adds a process's time to its parent only when the parent reaps that process. Once a
/// cell's init is killed, nobody reaps in the cell. So the init first kills and reaps the others,
/// then ends.
void KillAllButInit(int cell);

}  // namespace polybox::jail
