// Seals files in the trees of a lease: each becomes a mount of its own, which the kernel lets no
// guest rename, remove or replace. Used by the lease init, whose mount namespace is that of the
// guests.
#pragma once

#include "jail/init/protocol.h"

namespace polybox::jail::init {

/// Seals the file at the path of `seal`, if it is the file that the server means. Does nothing for
/// a file that is sealed already. Returns 0 or an errno.
int SealPath(const Seal& seal);

}  // namespace polybox::jail::init
