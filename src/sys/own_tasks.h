// Counts the processes and threads of this process's user, which RLIMIT_NPROC limits. Any thread
// may call these functions.
#pragma once

#include <cstdint>

namespace polybox::sys {

/// Returns the number of tasks with this process's real uid that /proc shows. The kernel also
/// counts tasks with the same uid in other containers, which this function cannot see. Reads all of
/// /proc.
std::int64_t CountOwnTasks();

/// Returns whether CountOwnTasks() sees every task of the machine with this uid. False in a PID
/// namespace.
bool SeesAllTasks();

}  // namespace polybox::sys
