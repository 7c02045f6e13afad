// Ends all descendants of the calling process where neither a PID namespace nor a cgroup does so.
// The caller, a slot init or the supervisor of a lease's process, is a child subreaper. A process
// that loses its parent becomes a child of the caller. So no descendant is left when the caller has
// no child.
#pragma once

#include <cstdint>

#include "jail/init/protocol.h"

namespace polybox::jail::init {

/// The ways in which kill(-1) reaches all descendants and no other process. kill(-1) signals in one
/// step, so no process can escape it by forking.
struct KillAll {
  /// A uid that only guests have; 0 if there is none.
  unsigned guest_uid = 0;
  /// KeepSignalsInside() (landlock.h) was successful.
  bool signals_stay_inside = false;
};

/// Kills and reaps all descendants and adds their usage to `ended`. Returns false when some of them
/// still exist after ten seconds.
bool EndTree(const KillAll& how, Ended& ended);

/// Calls `work`, which returns an errno, in a child process with the guests' uid and no rights. The
/// guests cannot signal that child. Returns the errno of `work`, or of the change of uid.
int AsGuest(unsigned guest_uid, int (*work)(int), int argument);

}  // namespace polybox::jail::init
