// The listener in a slot's network namespace, from which the server's egress proxy takes the
// guests' connections.
#pragma once

#include "base/unique_fd.h"

namespace polybox::jail::init {

/// Brings the loopback interface of the present network namespace up. Returns 0 or an errno.
int RaiseLoopback();
/// Brings the loopback interface up and makes `listener`, a listening socket on its port
/// kEgressPort. Returns 0 or an errno.
int ListenForEgress(UniqueFd& listener);

}  // namespace polybox::jail::init
