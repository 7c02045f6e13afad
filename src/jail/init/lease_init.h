// The lease init: PID 1 of the PID namespace of a lease, or a child subreaper in grades without
// namespaces. It makes a supervisor for each process that the server starts, and reaps. It is a
// plain copy of the slot init and shares no memory with it. So the rules of raw.h do not apply to
// the lease init or to its children. When the lease init ends, the kernel kills every process of
// its PID namespace; without a PID namespace the slot init ends those processes.
#pragma once

#include "jail/init/supervisor.h"

namespace polybox::jail::init {

/// Makes the lease init, as a child of the slot init. `control` (borrowed) is its end of the socket
/// to the server. Returns its PID, or a negative errno. A slot init makes one lease init: the PID
/// namespace for its children can be changed only once.
long StartLease(const ProcessOptions& options, int control);

}  // namespace polybox::jail::init
