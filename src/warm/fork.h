// How a guest of a zygote gets into its cell. Called by library.cc and python.cc in the zygote, on
// the one thread that uses the warm library (library.h).
#pragma once

#include <sys/types.h>

namespace polybox::warm {

/// Forks a guest for each request on the zygote's socket. Returns only in a guest, with the
/// descriptor by which the guest reports that it has started.
int ServeForks(pid_t (*fork)());

}  // namespace polybox::warm
