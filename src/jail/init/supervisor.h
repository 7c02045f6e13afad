// The supervisor of one process of a lease. It starts the process, reports how the process ends,
// and can end the whole tree of its descendants. A supervisor is a child of the lease init and a
// child subreaper. An orphan of the tree, such as a daemon in a session of its own, becomes its
// child. So the tree has ended when the supervisor has no child left.
//
// Where the slot has a root of its own (grade full), the supervisor has uid 0 of the slot's user
// namespace. Guests cannot signal it. In the other grades a guest with the same uid can kill its
// supervisor; its descendants then stay until the lease ends.
#pragma once

#include <string>

#include "jail/init/messages.h"
#include "jail/init/protocol.h"

namespace polybox::jail::init {

/// What all processes of a lease are made with. The objects belong to the lease init.
struct ProcessOptions {
  /// The guest's part of the seccomp filter.
  const std::string& filter;
  bool in_namespaces = true;
  /// Borrowed: the Landlock ruleset; -1 for no Landlock.
  int ruleset = -1;
  /// See Bare in protocol.h.
  bool closed_trees = false;
  /// See Setup in protocol.h.
  bool guards_proc = false;
};

/// The main function of a supervisor, in a process that the lease init has forked. `fds` are the
/// descriptors of the StartProcess message, as protocol.h lists them. The caller's process has
/// SIGCHLD blocked and one thread.
[[noreturn]] void Supervise(const StartProcess& order, const ProcessOptions& lease,
                            Descriptors fds);

}  // namespace polybox::jail::init
