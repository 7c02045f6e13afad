// What a cell and its guest are made with. Used by the slot init, a cell's init and the waiting
// guest.
#pragma once

#include <span>
#include <string>

#include "jail/init/protocol.h"
#include "jail/init/reuse.h"
#include "jail/init/warm_command.h"

namespace polybox::jail::init {

/// What a cell and its guest are made with. `cgroups` are the descriptors of a NextCell message,
/// borrowed. The referenced objects belong to the slot init and must not change while a guest is
/// made.
struct CellOptions {
  /// The guest's part of the seccomp filter; the slot init has the other part.
  const std::string& filter;
  const NextCell& next;
  std::span<const int> cgroups;
  Reuse reuse = {};
  bool in_namespaces = true;
  /// Borrowed: the Landlock ruleset; -1 for no Landlock.
  int ruleset = -1;
  /// See Bare in protocol.h.
  bool closed_trees = false;
  /// The interpreter to start in the cell ahead of its program; null for none. Must outlive the
  /// cell.
  const WarmCommand* warm = nullptr;
  /// Borrowed: the socket to the zygote that forks the guest; -1 for none.
  int zygote = -1;
  /// The zygote must `setns` into the namespaces of this cell before it forks: it is still in the
  /// namespaces of an earlier cell.
  bool zygote_moves = false;
  /// Later guests of the cell may be forked from a zygote.
  bool zygote_later = false;
  /// Borrowed: /proc/sys/kernel/ns_last_pid, opened in the host's /proc. It acts on the PID
  /// namespace of the process that writes to it. The same file in the cell's /proc would be in
  /// reach of the guests.
  int last_number = -1;
};

/// Descriptors by which a warm guest reports to its cell's init; -1 for other guests. Borrowed.
struct WarmFds {
  /// The cell's eventfd, to which the guest writes when it has taken its program.
  int started = -1;
  /// The descriptor of the memory for the guest's last word (last_word.h).
  int word = -1;
};

}  // namespace polybox::jail::init
