// Who the guests of a slot are on the host. Used by slot.cc.
#pragma once

#include <sys/types.h>

#include "base/result.h"
#include "jail/spec.h"

namespace polybox::jail {

/// The host uid of the namespace's root in slot `number`; the next one is the guests'.
unsigned SlotUid(unsigned number);

/// Writes the maps of the user namespace that `pid` has made. Made by root, the namespace's root
/// and the guest are two host uids of the slot's own; otherwise the guest is us.
Status MapIds(pid_t pid, const Spec& spec, unsigned number);

}  // namespace polybox::jail
