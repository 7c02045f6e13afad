// How many processes and threads a user has: what RLIMIT_NPROC counts.
#pragma once

#include <cstdint>

namespace polybox::sys {

/// Those with our real uid that we can see; others of the same uid, in other containers, are
/// counted by the kernel as well. Reads all of /proc. Any thread.
std::int64_t CountOwnTasks();

}  // namespace polybox::sys
