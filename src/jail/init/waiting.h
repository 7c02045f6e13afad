// The process that waits in a cell for its program and becomes the guest. No function here
// allocates or uses errno: see raw.h. WaitAsGuest() runs in the waiting process, ForgetRun() in the
// slot init.
#pragma once

#include "jail/init/cell_options.h"

namespace polybox::jail::init {

/// The main function of the waiting process. It gives up all rights that a guest may not have,
/// reports on `socket` that it is ready, and waits for a Run message. Then it executes the program.
/// Until that exec it shares the slot init's memory. `options` may be used until the report only;
/// `fds` must be valid until the exec.
[[noreturn]] void WaitAsGuest(int socket, const CellOptions& options, const WarmFds& fds);
/// Releases the memory of the last Run message. Only the slot init calls it, after the guest has
/// executed its program or ended, so that no process uses the buffers.
void ForgetRun();

}  // namespace polybox::jail::init
