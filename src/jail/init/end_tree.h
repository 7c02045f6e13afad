// Ending all descendants of the slot init where no PID namespace does it. The slot init is a child
// subreaper, so whoever loses their parent becomes its child: none are left when it has no child.
#pragma once

#include <cstdint>

#include "jail/init/protocol.h"

namespace polybox::jail::init {

/// Kills and reaps them all; their usage is added to `ended`. With a `guest_uid` other
/// than 0 that uid is nobody's but the guests'. False when some are still there after ten seconds.
bool EndTree(unsigned guest_uid, Ended& ended);

/// Does `work` (which returns an errno) in a child process with the guests' uid and no rights. The
/// guests cannot signal it. Its errno, or that of becoming it.
int AsGuest(unsigned guest_uid, int (*work)(int), int argument);

}  // namespace polybox::jail::init
