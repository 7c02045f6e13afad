#include "jail/init/cell.h"

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <unistd.h>
#include <utility>

#include <linux/sched.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "jail/init/cell_init.h"
#include "jail/init/cell_options.h"
#include "jail/init/guest.h"
#include "jail/init/ids.h"
#include "jail/init/messages.h"
#include "jail/init/proc.h"
#include "jail/init/raw.h"
#include "jail/init/sockets.h"
#include "jail/init/step_result.h"
#include "jail/init/waiting.h"

namespace polybox::jail::init {
namespace {

// How long to wait for a cell, from its first instruction until its guest waits. A cell that takes
// longer, even on the busiest machine, will never answer.
constexpr timeval kMostForCell = {20, 0};

/// The stack of the cell's init. There is one cell at a time: a new one starts only after EndCell()
/// (or BareSlot::EndCell()) has waited for the end of the last one.
Stack cell_stack;

bool HasCgroup(const NextCell& next) {
  return next.join_count > 0 || next.clone_into;
}

/// The descriptors that a guest is made with, as long as they belong to the slot init.
class GuestFds {
 public:
  /// Makes the descriptors. Returns 0 or an errno.
  int Make(bool warm) {
    int sockets[2];
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0) return errno;
    ours_.reset(sockets[0]);
    theirs_.reset(sockets[1]);
    // The kernel then tells the sender of each message, as a PID in the slot init's namespace.
    const int on = 1;
    ::setsockopt(ours_.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
    // Only the slot init needs this timeout. The server, which gets this end later, reads only when
    // there is a message.
    ::setsockopt(ours_.get(), SOL_SOCKET, SO_RCVTIMEO, &kMostForCell, sizeof kMostForCell);
    if (!warm) return 0;
    started_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!started_.valid()) return errno;
    word_.reset(LastWord::Make());
    return word_.valid() ? 0 : errno;
  }

  int theirs() const { return theirs_.get(); }
  WarmFds warm() const { return {started_.get(), word_.get()}; }
  /// Returns the server's end.
  UniqueFd TakeOurs() { return std::move(ours_); }
  void CloseTheirs() {
    for (UniqueFd* fd : {&theirs_, &started_, &word_}) fd->reset();
  }

 private:
  UniqueFd ours_;
  UniqueFd theirs_;
  UniqueFd started_;
  UniqueFd word_;
};

/// What the helper process makes a cell from. The helper writes the cell's PID or a negative errno
/// to `made`; the slot init reads it after the helper has ended.
struct PlainCell {
  clone_args args{};
  CellBirth* birth = nullptr;
  long made = 0;
};

/// The main function of the helper process, which shares the slot init's memory. The slot init is
/// suspended meanwhile (CLONE_VFORK), so this function may use all of its objects. It makes raw
/// calls only.
void MakePlainCell(void* given) {
  PlainCell& plain = *static_cast<PlainCell*>(given);
  plain.made = Raw(SYS_unshare, CLONE_NEWPID);
  if (plain.made == 0) {
    plain.made = CloneSharing(plain.args, cell_stack.room, CellMain, plain.birth);
  }
  RawExit(0);
}

/// Makes the init of a cell. Returns its PID or a negative errno. The slot's own filter lets only
/// clone3 make namespaces, and the slot init could unshare its PID namespace only once. So without
/// clone3 a helper process unshares the PID namespace for its children. Then it makes the cell's
/// init with CLONE_PARENT, as a child of the slot init. `birth` must be valid until the cell's init
/// has taken its first order.
long CloneCell(clone_args args, CellBirth& birth) {
  if (HasClone3() || (args.flags & CLONE_NEWPID) == 0) {
    return CloneSharing(args, cell_stack.room, CellMain, &birth);
  }
  static Stack helper_stack;
  static PlainCell plain;
  args.flags = (args.flags & ~std::uint64_t{CLONE_NEWPID}) | CLONE_PARENT;
  plain = {args, &birth, -EAGAIN};
  clone_args helper{};
  // With CLONE_FILES the pidfd is put into the slot init's descriptor table. With CLONE_VFORK the
  // slot init continues only when the helper has ended.
  helper.flags = CLONE_FILES | CLONE_VFORK;
  helper.exit_signal = SIGCHLD;
  const long made = CloneSharing(helper, helper_stack.room, MakePlainCell, &plain);
  if (made < 0) return made;
  while (::waitpid(static_cast<pid_t>(made), nullptr, 0) < 0 && errno == EINTR) {
  }
  return plain.made;
}

/// Makes a cell without a guest. The cell's init starts to share the slot init's memory here; the
/// rules are in raw.h. The init runs on `cell_stack`, reads `birth` once, and then waits for an
/// order. The init writes only its own stack and the variables of cell_init.cc. The slot init does
/// not use these while the cell exists; LastWordOfGuest() is handed over, see cell_init.h.
StepResult StartCell(const CellOptions& options, Cell& cell) {
  static const bool closed = cell_stack.CloseEnd() && CloseEndOfGuestStack();
  if (!closed) return StepResult::Failure(Stage::kCell, ENOMEM);
  int control[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) != 0) {
    return StepResult::Failure(Stage::kCell, errno);
  }
  UniqueFd ours(control[0]);
  const UniqueFd theirs(control[1]);
  // The init's reports never take long. An init that does not report in time is given up.
  ::setsockopt(control[0], SOL_SOCKET, SO_RCVTIMEO, &kMostForCell, sizeof kMostForCell);
  const bool may_stay =
      options.reuse.OfCell(options.in_namespaces, SharesUsers(), options.next.counted);
  int pidfd = -1;
  clone_args args{};
  args.flags = CLONE_PIDFD | (options.in_namespaces ? CLONE_NEWPID : 0U);
  args.pidfd = reinterpret_cast<std::uint64_t>(&pidfd);
  args.exit_signal = SIGCHLD;
  // Static, because the cell's init reads it after this function may have returned. The next cell
  // overwrites it, when this cell's init has ended.
  static CellBirth birth;
  birth = {control[1], options.in_namespaces, may_stay, options.zygote_later, options.last_number};
  const long pid = CloneCell(args, birth);
  if (pid <= 0) return StepResult::Failure(Stage::kCell, static_cast<int>(-pid));
  cell = {.pid = static_cast<pid_t>(pid),
          .pidfd = UniqueFd(pidfd),
          .socket = {},
          .control = std::move(ours),
          .control_numbers = may_stay ? NumbersOf(control) : SocketNumbers(),
          .may_stay = may_stay};
  return {};
}

/// Sends the address of `order` to the cell's init, with the descriptors. Returns whether the init
/// will receive it. The init's answer comes over the guest's socket.
bool SendOrder(GuestOrder& order, int control) {
  std::vector<int> fds;
  for (const int* fd : order.descriptors()) {
    if (*fd >= 0) fds.push_back(*fd);
  }
  fds.insert(fds.end(), order.options.cgroups.begin(), order.options.cgroups.end());
  const auto place = reinterpret_cast<std::uintptr_t>(&order);
  return Send(control, {reinterpret_cast<const char*>(&place), sizeof place}, fds);
}

// Reported when there is no cell's init that could make a guest.
constexpr int kGone = EPROTO;

/// Lets the cell's init make a guest, and waits for the answer. `order` is on this stack: the
/// cell's init and the guest read it in the shared memory until one of them has answered. This
/// function therefore waits for the answer. If none comes, the caller kills the cell (KillCell).
StepResult MakeGuest(const CellOptions& options, Cell& cell) {
  const bool warm = options.warm != nullptr || options.zygote >= 0;
  GuestFds fds;
  if (const int error = fds.Make(warm)) return StepResult::Failure(Stage::kCell, error);
  // The last word is used only with a cgroup. Without a cgroup the guest's usage is known only when
  // the kernel has reported its end. The slot init maps the page here, before the cell's init has
  // the order; from then on the object belongs to the cell's init.
  if (warm && HasCgroup(options.next) && LastWordOfGuest().Map(fds.warm().word)) {
    LastWordOfGuest().Listen();
  }
  GuestOrder order = {options, fds.theirs(), fds.warm()};
  const bool sent = SendOrder(order, cell.control.get());
  cell.socket = fds.TakeOurs();
  cell.warm = warm;
  fds.CloseTheirs();
  Received ready;
  if (sent && ReceiveShort(cell.socket.get(), ready) && KindOf(ready.bytes) == MessageKind::kDone) {
    cell.guest = ready.sender;
    return {};
  }
  StepResult result = StepResult::Failure(Stage::kCell, kGone);
  if (!ready.bytes.empty()) Decode(ready.bytes, result.failed);
  return result;
}

/// Kills the cell's init and waits for its end, without reaping it. In a PID namespace the kernel
/// ends the init last, so no process of the cell is left then. The init and its guest read objects
/// of the slot init, so these processes must have ended before the objects are destroyed.
void KillCell(const Cell& cell) {
  ::kill(cell.pid, SIGKILL);
  siginfo_t ended{};
  while (::waitid(P_PID, static_cast<id_t>(cell.pid), &ended, WEXITED | WNOWAIT) < 0 &&
         errno == EINTR) {
  }
}

/// Ends the guest if it still runs. Returns whether the cell's init stays and is alone in the cell.
bool AwaitAlone(const Cell& cell) {
  char word[8];
  ssize_t said = ::recv(cell.control.get(), word, sizeof word, MSG_DONTWAIT);
  if (said < 0 && errno == EAGAIN) {
    ::kill(cell.pid, kEndGuest);
    do {
      said = ::recv(cell.control.get(), word, sizeof word, 0);
    } while (said < 0 && errno == EINTR);
  }
  return said > 0;
}

/// Releases what was for one guest only. The guest has ended, so its last word and the buffers of
/// its run belong to the slot init again.
void ForgetGuest(Cell& cell) {
  cell.socket.reset();
  cell.guest = -1;
  LastWordOfGuest().Unmap();
  ForgetRun();
}

}  // namespace

bool Stack::CloseEnd() {
  return ::mprotect(end.data(), kPage, PROT_NONE) == 0;
}

StepResult MakeCell(const CellOptions& options, Cell& cell) {
  const bool stayed = cell.exists();
  if (!stayed) {
    const StepResult started = StartCell(options, cell);
    if (!started.ok) return started;
  }
  const StepResult made = MakeGuest(options, cell);
  if (made.ok) {
    if (!stayed && cell.may_stay) cell.links.Look();
    return made;
  }
  KillCell(cell);
  if (options.in_namespaces) EndCell(cell);
  // The init that had stayed may have been killed while it was idle. A new cell is made then.
  return stayed && made.failed.error == kGone ? MakeCell(options, cell) : made;
}

/// The objects of the guest are released only when the cell's init has reported that it is alone,
/// or has ended. Until then other processes may use them.
Ended EndRun(Cell& cell) {
  if (cell.guest < 0) return {};
  if (!cell.may_stay || !Reuse::OfCellAfter(++cell.guests) || !AwaitAlone(cell))
    return EndCell(cell);
  ForgetGuest(cell);
  return ForgetLooksAtProc(cell.links) ? Ended() : EndCell(cell);
}

Ended EndCell(Cell& cell) {
  if (!cell.exists()) return {};
  ::kill(cell.pid, SIGKILL);
  rusage usage{};
  int status = 0;
  while (::wait4(cell.pid, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  ForgetGuest(cell);
  UnmountProc();
  cell = {};
  return FromUsage(usage, status);
}

}  // namespace polybox::jail::init
