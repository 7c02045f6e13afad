// Makes and ends cells. A cell is a PID namespace with its own init and /proc, and a guest process
// that waits in it for its program. Used by the slot init on its one thread; a slot has one cell at
// a time. The cell's init and the waiting guest share the slot init's memory: see raw.h for the
// rules.
#pragma once

#include <sys/types.h>

#include "base/unique_fd.h"
#include "jail/init/cell_options.h"
#include "jail/init/proc.h"
#include "jail/init/sockets.h"
#include "jail/init/step_result.h"

namespace polybox::jail::init {

/// What the slot init knows of a cell. All PIDs are those that the slot init sees.
struct Cell {
  /// The PID of the cell's init; -1 while there is no cell.
  pid_t pid = -1;
  /// The PID of the cell's guest; -1 while there is no guest.
  pid_t guest = -1;
  /// The pidfd of the cell's init.
  UniqueFd pidfd;
  /// The server's end of the guest's socket.
  UniqueFd socket;
  /// The guest is an interpreter that has started already.
  bool warm = false;
  /// The slot init's end of the control socket, whose other end belongs to the cell's init.
  UniqueFd control;
  SocketNumbers control_numbers{};
  /// The cell's init may stay for another guest after this one (Reuse::OfCell).
  bool may_stay = false;
  /// The number of guests that have ended in this cell.
  int guests = 0;
  /// The server has received the pidfd of this cell's init.
  bool is_known = false;
  ProcLinks links = {};
  /// How often the slot's shared namespaces (IPC, network) had been replaced when the cell joined
  /// them. A cell with an older number is in outdated namespaces and must be ended.
  int namespaces = 0;

  bool exists() const { return pid > 0; }
};

/// Makes a waiting guest: in `cell` if it exists and has no guest, otherwise in a new cell. On
/// failure no cell is left, except without namespaces, where the caller must still call
/// BareSlot::EndCell().
StepResult MakeCell(const CellOptions& options, Cell& cell);
/// Ends every process that a guest has left. The cell ends too, unless the guest was the only
/// process that ever ran beside the cell's init. Then the next guest finds a namespace as good as
/// new. Returns what was used in a cell that was ended.
Ended EndRun(Cell& cell);
/// Kills and reaps all processes of the cell and clears `cell`. Returns what all its processes
/// used.
Ended EndCell(Cell& cell);

}  // namespace polybox::jail::init
