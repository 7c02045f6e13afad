// A terminal for a process of a lease. Used by the process's supervisor.
#pragma once

#include <cstdint>

#include "base/unique_fd.h"

namespace polybox::jail::init {

/// The two ends of a pseudoterminal. Both descriptors are close-on-exec.
struct Terminal {
  /// The master end, by which the server reads and writes what a person would see and type.
  UniqueFd master;
  /// The end that is the terminal of the guest.
  UniqueFd process;
};

/// Makes a terminal of this size in characters, which belongs to the guests' uid. Returns 0 or an
/// errno. Call it before the guests' filter is installed.
int OpenTerminal(std::uint16_t rows, std::uint16_t columns, Terminal& terminal);

/// Makes `terminal` (borrowed) the controlling terminal of the calling process, which leads its
/// session. Returns 0 or an errno.
int ControlBy(int terminal);

}  // namespace polybox::jail::init
