// A cell's init: PID 1 of its PID namespace, which makes, awaits and reaps the guests of its cell,
// one after another. The cell's init shares its slot init's memory (raw.h), but not its
// descriptors.
#pragma once

#include <array>
#include <csignal>
#include <span>

#include <sys/resource.h>

#include "jail/init/cell_options.h"
#include "jail/init/last_word.h"

namespace polybox::jail::init {

/// A stack for a process that shares the slot init's memory. The stack grows down towards `end`, a
/// page without access rights: a process that overruns its stack gets SIGSEGV and damages no other
/// object.
struct Stack {
  static constexpr std::size_t kPage = 4096;
  alignas(kPage) std::array<char, kPage> end;
  std::array<char, 16 * kPage> room;

  /// Makes `end` inaccessible. Returns false when the kernel refuses.
  bool CloseEnd();
};

/// What a cell's init starts with. The slot init writes it before the clone and leaves it alone
/// until the next cell. The cell's init reads it only before it takes its first order.
struct CellBirth {
  /// The cell init's end of the control socket to the slot init.
  int control = -1;
  bool in_namespaces = true;
  /// One guest after another may use this cell.
  bool may_stay = false;
  /// Guests of this cell may be forked from a zygote.
  bool has_zygote = false;
  /// Borrowed: see CellOptions.
  int last_number = -1;
};

/// An order to make a guest. The slot init sends the order's address, which is valid in both
/// processes, and the descriptors that the order names, then those of the cgroups. The slot init
/// leaves the order and what it refers to unchanged until the guest or the cell's init
/// has answered on the guest's socket. After the answer only `options.warm` may be used, which
/// outlives the cell.
struct GuestOrder {
  CellOptions options;
  /// The cell's end of the guest's socket to the server.
  int socket = -1;
  WarmFds warm;

  /// The descriptor fields, in the order in which the descriptors are sent.
  std::array<int*, 5> descriptors() {
    return {&socket, &warm.started, &warm.word, &options.zygote, &options.ruleset};
  }
  /// Replaces the numbers of the slot init's descriptors by those that were received. Returns how
  /// many of `came` were used.
  std::size_t TakeDescriptors(std::span<const int> came) {
    std::size_t taken = 0;
    for (int* fd : descriptors()) {
      if (*fd >= 0) *fd = came[taken++];
    }
    return taken;
  }
};

/// A signal to a cell's init: kill the guest now.
inline constexpr int kEndGuest = SIGVTALRM;

/// The last word (last_word.h) of the guest. A slot has one cell, so one object is enough. The slot
/// init maps the page before it sends an order. From then until the guest has ended, only the
/// cell's init uses the object.
LastWord& LastWordOfGuest();

/// Returns the usage of `usage` and the wait status `status` as a message.
Ended FromUsage(const rusage& usage, int status);

/// Makes the guard page of the guest's stack inaccessible. Call it once, before the first cell.
bool CloseEndOfGuestStack();

/// The main function of a cell's init; `birth` points to a CellBirth. It takes orders and never
/// returns. After a guest that was the only process beside the init, the init sends kDone and waits
/// for the next order. After any other guest the init exits, and the kernel kills all other
/// processes of the cell.
[[noreturn]] void CellMain(void* birth);

}  // namespace polybox::jail::init
