// The host uids that the guests of a slot have, and the id maps of the slot's user namespace. Only
// slot.cc calls these functions.
#pragma once

#include <sys/types.h>

#include "base/result.h"
#include "jail/spec.h"

namespace polybox::jail {

/// Returns the host uid that is root in the namespace of slot `number`; the guests have the next
/// higher uid. Call it only where sys::IdsForGuests() has ids: elsewhere it returns the effective
/// uid of the caller.
unsigned SlotUid(unsigned number);

/// Returns the host ids of the guests of slot `number`. Only with `spec.privileged`.
HostIds GuestIdsOf(const Spec& spec, unsigned number);

/// Writes the maps of the user namespace that `pid` has made. With `spec.privileged` the
/// namespace's root has a host uid of the slot's own, and the guest has GuestIdsOf(). Otherwise the
/// guest has the server's uid.
Status MapIds(pid_t pid, const Spec& spec, unsigned number);

}  // namespace polybox::jail
