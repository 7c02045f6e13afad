// The slot init: a program that the server starts from a sealed memfd, one for each slot. It talks
// to the server over descriptor 3 and ends when the server closes its end. It has one thread. A
// cell's init and a waiting guest share its memory while it goes on: see raw.h. Objects that they
// read are `filter_`, `warm_` (unchanged after SetUp()) and the CellOptions in AnswerWithCell().
#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <grp.h>
#include <optional>
#include <sched.h>
#include <unistd.h>

#include <linux/sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "base/unique_fd.h"
#include "jail/init/bare_slot.h"
#include "jail/init/cell.h"
#include "jail/init/cell_options.h"
#include "jail/init/filling.h"
#include "jail/init/ipc.h"
#include "jail/init/lease_init.h"
#include "jail/init/messages.h"
#include "jail/init/netlink.h"
#include "jail/init/network.h"
#include "jail/init/protocol.h"
#include "jail/init/raw.h"
#include "jail/init/reuse.h"
#include "jail/init/root.h"
#include "jail/init/scratch.h"
#include "jail/init/sockets.h"
#include "jail/init/step_result.h"
#include "jail/init/warm_command.h"
#include "jail/init/zygote.h"

namespace polybox::jail::init {
namespace {

constexpr int kServer = 3;

/// After this no program started from here can ever gain a capability. The capabilities that the
/// slot init holds stay.
int DropBoundingSet() {
  for (int capability = 0; ::prctl(PR_CAPBSET_READ, capability) >= 0; ++capability) {
    if (::prctl(PR_CAPBSET_DROP, capability) != 0) return errno;
  }
  return 0;
}

/// A zygote chooses the PIDs of its guests, which only clone3 can do. Without clone3 guests start
/// cold.
WarmKind PossibleKind(WarmKind wanted) {
  return wanted == WarmKind::kZygote && !HasClone3() ? WarmKind::kNone : wanted;
}

/// The buffer for the server's messages. It has pages of its own, which are released after a large
/// message.
struct MessageRoom {
  static constexpr std::size_t kPage = 4096;
  alignas(kPage) std::array<char, kLargestMessage> bytes;

  bool Receive(Received& received) {
    if (!init::Receive(kServer, received, bytes)) return false;
    if (received.bytes.size() > 4 * kPage) {
      ::madvise(bytes.data(), bytes.size(), MADV_DONTNEED);
    }
    return true;
  }
};
MessageRoom message_room;

class SlotInit {
 public:
  [[noreturn]] void Serve() {
    while (true) {
      Received received;
      route_sockets_.AnswerUntilReadable(kServer, -1);
      if (!message_room.Receive(received)) Leave();
      switch (KindOf(received.bytes)) {
        case MessageKind::kSetup:
          AnswerSetUp(received);
          break;
        case MessageKind::kFiles:
          Answer(TakeFiles(received));
          break;
        case MessageKind::kResize:
          Answer(TakeSize(received));
          break;
        case MessageKind::kNextCell:
          AnswerWithCell(received);
          break;
        case MessageKind::kReap:
          Send(kServer, Encode(EndOfRun()));
          break;
        case MessageKind::kWipe:
          Answer(Wipe());
          break;
        case MessageKind::kOpenDirectory:
          AnswerWithDirectory(received);
          break;
        case MessageKind::kOpenLease:
          AnswerWithLease(received);
          break;
        default:
          Answer(StepResult::Failure(Stage::kMessage, EBADMSG));
      }
    }
  }

 private:
  [[noreturn]] void Leave() {
    EndOfRun();
    // In a PID namespace the kernel ends the lease init with this process.
    if (lease_ > 0 && bare_.exists()) bare_.EndLease(lease_);
    bare_.Remove();
    ::_exit(0);
  }

  std::string work_directory() const {
    return bare_.exists() ? bare_.work_directory() : "/sandbox";
  }

  Ended EndOfRun() { return bare_.exists() ? bare_.EndCell(cell_) : EndRun(cell_); }

  static void Answer(const StepResult& result) {
    Send(kServer, result.ok ? Encode(MessageKind::kDone) : Encode(result.failed));
  }

  void AnswerSetUp(const Received& received) {
    Built built;
    const StepResult result = SetUp(received, built);
    if (!result.ok) return Answer(result);
    Send(kServer, Encode(built));
  }

  StepResult SetUp(const Received& received, Built& built) {
    Setup setup;
    if (!Decode(received.bytes, setup)) return StepResult::Failure(Stage::kMessage, EBADMSG);
    filter_ = setup.filter_of_guest;
    reuse_ = Reuse(setup.reuse);
    guards_proc_ = setup.guards_proc;
    warm_kind_ = PossibleKind(setup.warm.kind);
    warm_.emplace(setup.warm);
    if (setup.bare.walls != Walls::kNamespaces) return bare_.SetUp(setup);
    if (setup.has_root &&
        (::setgroups(0, nullptr) != 0 || ::setresgid(0, 0, 0) != 0 || ::setresuid(0, 0, 0) != 0)) {
      return StepResult::Failure(Stage::kIdentity, errno);
    }
    if (warm_kind_ == WarmKind::kZygote) {
      if (const int error = KeepForZygote()) return StepResult::Failure(Stage::kWarm, error);
      zygote_.KeepProc();
    }
    if (const int error = DropBoundingSet()) return StepResult::Failure(Stage::kDrop, error);
    // The change of uid has cleared the parent-death signal.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (const int error = network_.Open()) return StepResult::Failure(Stage::kNetwork, error);
    ipc_.Open();
    last_number_.reset(::open("/proc/sys/kernel/ns_last_pid", O_RDWR | O_CLOEXEC));
    LimitInotify();
    // Where guests have the slot init's uid, they may not inspect its memory (ptrace, /proc). The
    // cell's init shares that memory, so it is protected too.
    ::prctl(PR_SET_DUMPABLE, 0);
    const StepResult root = BuildRoot(setup, received.fds.all(), network_, built);
    if (!root.ok) return root;
    for (const Operation& operation : setup.operations) {
      if (operation.kind == OperationKind::kTmpfs) scratch_.push_back({operation});
    }
    RememberScratch(scratch_);
    return route_sockets_.Install(setup.filter_of_slot, network_.directory());
  }

  /// Bounds the inotify instances of the slot's user. The kernel counts each instance also for the
  /// owner of the user namespace, who has 128 for all slots and all other programs. A program that
  /// watches files needs one.
  static void LimitInotify() {
    const UniqueFd fd(::open("/proc/sys/user/max_inotify_instances", O_WRONLY | O_CLOEXEC));
    if (fd.valid()) (void)!::write(fd.get(), "16", 2);
  }

  StepResult TakeFiles(const Received& received) {
    Files files;
    if (!Decode(received.bytes, files) || received.fds.size() != 1) {
      return StepResult::Failure(Stage::kMessage, EBADMSG);
    }
    // A guest that is the first to follow the links of /proc would be the last guest of its cell.
    // The next guest has not started its program yet.
    if (cell_.may_stay) cell_.links.Settle();
    const auto scratch = std::ranges::find(scratch_, files.directory, &Scratch::path);
    const bool was_untouched = scratch != scratch_.end() && IsUntouched(*scratch);
    const StepResult written = WriteFiles(files, received.fds[0]);
    if (written.ok && was_untouched) RememberFilling(*scratch, files.files);
    return written;
  }

  /// Waits for the sockets that the last session left in flight. Such a session has also lost its
  /// cell and its scratch directories.
  int AwaitItsSockets() {
    bool waited = false;
    const OwnSockets ours = {zygote_.socket_numbers(), cell_.control_numbers};
    const int error = network_.sockets().AwaitNone(ours, waited);
    if (!waited) return error;
    // A lock that was held on a scratch directory's file leaves no trace. So the directories are
    // made anew.
    DistrustScratch(scratch_);
    EndCell(cell_);
    return error;
  }

  StepResult Wipe() {
    EndOfRun();
    if (bare_.exists()) return bare_.Empty();
    if (const int error = AwaitItsSockets()) return StepResult::Failure(Stage::kNetwork, error);
    // The IPC namespace is renewed before the rest: what the last session left there counts against
    // its cgroup until it is freed.
    if (const int error = ipc_.Renew(reuse_)) {
      return StepResult::Failure(Stage::kNamespaces, error);
    }
    const StepResult emptied = EmptyScratch(scratch_, reuse_);
    if (!emptied.ok) return emptied;
    const int error = network_.Renew(reuse_);
    return error == 0 ? StepResult() : StepResult::Failure(Stage::kNetwork, error);
  }

  StepResult TakeSize(const Received& received) {
    Resize size;
    if (!Decode(received.bytes, size)) return StepResult::Failure(Stage::kMessage, EBADMSG);
    return ResizeScratch(scratch_, size);
  }

  void AnswerWithCell(const Received& received) {
    NextCell next;
    if (!Decode(received.bytes, next) || received.fds.size() != next.join_count + next.clone_into) {
      return Answer(StepResult::Failure(Stage::kMessage, EBADMSG));
    }
    EndOfRun();
    DistrustNewScratch(scratch_);
    if (const int error = ipc_.Renew(reuse_)) {
      return Answer(StepResult::Failure(Stage::kNamespaces, error));
    }
    if (!bare_.exists()) ipc_.Enter();
    CellOptions cold = {filter_, next, received.fds.all(), reuse_};
    cold.zygote_later = warm_kind_ == WarmKind::kZygote;
    cold.last_number = last_number_.get();
    const CellOptions options = next.warm ? WithWarmStart(cold) : cold;
    if (cell_.namespaces != renewals()) EndCell(cell_);
    StepResult made = bare_.exists() ? bare_.MakeCell(options, cell_) : MakeCell(options, cell_);
    if (!made.ok && options.zygote >= 0) {
      zygote_.Stop();
      made = MakeCell(cold, cell_);
    }
    if (!made.ok) return Answer(made);
    cell_.namespaces = renewals();
    SendCell();
  }

  /// Makes the lease init and sends its pidfd to the server.
  void AnswerWithLease(const Received& received) {
    if (received.fds.size() != 1 || lease_ > 0) {
      return Answer(StepResult::Failure(Stage::kMessage, EBADMSG));
    }
    ProcessOptions options = {filter_};
    options.guards_proc = guards_proc_;
    const StepResult prepared = bare_.exists() ? bare_.Prepare(options) : StepResult();
    if (!prepared.ok) return Answer(prepared);
    const long pid = StartLease(options, received.fds[0]);
    if (pid < 0) return Answer(StepResult::Failure(Stage::kCell, static_cast<int>(-pid)));
    lease_ = static_cast<pid_t>(pid);
    const UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, lease_, 0)));
    if (!pidfd.valid()) return Answer(StepResult::Failure(Stage::kCell, errno));
    // The listener belongs to the server alone after this.
    const UniqueFd listener = network_.TakeEgress();
    std::vector<int> fds = {pidfd.get()};
    if (listener.valid()) fds.push_back(listener.get());
    Send(kServer, Encode(MessageKind::kDone), fds);
  }

  /// Sends the cell to the server, with the descriptors that the server does not have already.
  void SendCell() {
    CellReady ready = {cell_.pid, cell_.guest, cell_.warm, zygote_.pid()};
    std::vector<int> fds = {cell_.socket.get()};
    ready.new_init = !cell_.is_known;
    if (ready.new_init) fds.push_back(cell_.pidfd.get());
    const auto scratch = std::ranges::find(scratch_, work_directory(), &Scratch::path);
    const int mounts = scratch == scratch_.end() ? -1 : scratch->mounts;
    const bool same_work = mounts >= 0 && mounts == known_work_;
    const UniqueFd work = same_work ? UniqueFd() : OpenWorkDirectory(work_directory(), "");
    ready.new_work = work.valid();
    ready.has_work = same_work || ready.new_work;
    if (ready.new_work) fds.push_back(work.get());
    // The listener belongs to the server alone after this.
    const UniqueFd listener = network_.TakeEgress();
    ready.new_egress = listener.valid();
    if (ready.new_egress) fds.push_back(listener.get());
    Send(kServer, Encode(ready), fds);
    cell_.is_known = true;
    known_work_ = ready.has_work ? mounts : -1;
  }

  /// Returns how often the namespaces that all cells share were replaced.
  int renewals() const { return network_.renewals() + ipc_.renewals(); }

  CellOptions WithWarmStart(CellOptions options) {
    if (warm_kind_ == WarmKind::kPrestart) options.warm = &*warm_;
    if (warm_kind_ == WarmKind::kZygote && PrepareZygote(options.next.between_sessions)) {
      options.zygote = zygote_.socket();
      options.zygote_moves = zygote_.MovesTo(renewals());
    }
    return options;
  }

  /// Returns whether the zygote can fork guests. The kernel lists the sockets of a zygote in the
  /// network namespace in which the zygote started. All its guests get a later namespace: a guest
  /// could otherwise see in /proc/net/unix whether an earlier guest caused a new namespace.
  bool PrepareZygote(bool between_sessions) {
    const pid_t before = zygote_.pid();
    if (!zygote_.Prepare(*warm_, between_sessions, route_sockets_)) return false;
    if (zygote_.pid() == before || network_.Renew(Reuse(false)) == 0) return true;
    zygote_.Stop();
    return false;
  }

  void AnswerWithDirectory(const Received& received) {
    OpenDirectory asked;
    if (!Decode(received.bytes, asked)) {
      return Answer(StepResult::Failure(Stage::kMessage, EBADMSG));
    }
    if (asked.after_run) EndOfRun();
    const UniqueFd directory = OpenWorkDirectory(work_directory(), asked.name);
    if (!directory.valid()) return Answer(StepResult::Failure(Stage::kOpen, errno));
    Send(kServer, Encode(MessageKind::kDone), {directory.get()});
  }

  /// Empty in grades without namespaces, where `bare_` has the scratch directories.
  std::vector<Scratch> scratch_;
  BareSlot bare_;
  Network network_;
  RouteSockets route_sockets_;
  Ipc ipc_;
  /// See CellOptions::last_number.
  UniqueFd last_number_;
  std::string filter_;
  Reuse reuse_;
  bool guards_proc_ = false;
  WarmKind warm_kind_ = WarmKind::kNone;
  std::optional<WarmCommand> warm_;
  Zygote zygote_;
  Cell cell_;
  /// The lease init; -1 in a slot for runs.
  pid_t lease_ = -1;
  /// How often the working directory had been mounted anew when the server got its descriptor; -1
  /// when the server has none.
  int known_work_ = -1;
};

/// Makes a copy of this process, which is a child of the server too (CLONE_PARENT), in the cgroup
/// that is open at `cgroup`. Returns what clone returns.
long CopyIntoCgroup(int cgroup) {
  if (!HasClone3()) {
    const UniqueFd file(::openat(cgroup, "cgroup.procs", O_WRONLY | O_CLOEXEC));
    const bool joined = file.valid() && ::write(file.get(), "0", 1) == 1;
    return joined ? ::syscall(SYS_clone, CLONE_PARENT, nullptr, nullptr, nullptr, nullptr) : -1;
  }
  clone_args args{};
  args.flags = CLONE_INTO_CGROUP | CLONE_PARENT;
  args.cgroup = static_cast<std::uint64_t>(cgroup);
  return ::syscall(SYS_clone3, &args, sizeof args);
}

/// Descriptor 5, if it is open, is the cgroup that the slot init belongs in (v2). To move a process
/// there takes the kernel milliseconds; to make a process there takes no time. So a copy in that
/// cgroup continues, and this process exits.
void StartOverInCgroup() {
  constexpr int kCgroup = 5;
  if (::fcntl(kCgroup, F_GETFD) < 0) return;
  const UniqueFd cgroup(kCgroup);
  const long copy = CopyIntoCgroup(cgroup.get());
  if (copy != 0) ::_exit(copy < 0 ? errno : 0);
}

/// Makes the slot's namespaces, except that of the network (Network::Open). The server then writes
/// the uid map, which needs rights that the slot init no longer has.
int EnterNamespaces() {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC) != 0) return errno;
  // The server can write the id maps only of a dumpable process.
  return ::prctl(PR_SET_DUMPABLE, 1) == 0 ? 0 : errno;
}

/// Without namespaces the death of the server must not kill the slot init, which has a process tree
/// to end first. The slot init sees the closed socket instead.
int StayInTheHostsNamespaces() {
  // The filter of an outer jail may refuse this; BareSlot::SetUp() checks.
  ::prctl(PR_SET_DUMPABLE, 0);
  return 0;
}

}  // namespace
}  // namespace polybox::jail::init

namespace {

/// For this process and all of its children: a core file may have one byte. That is too little for
/// a file. It is also the only value that keeps the kernel from handing a core to a helper of the
/// host (a piped core_pattern). Guests cannot change it: see policies/seccomp.toml.
void KeepCoresFromTheHost() {
  const rlimit one = {1, 1};
  // The call fails only where the hard limit is 0 and polybox has no right to raise it.
  ::setrlimit(RLIMIT_CORE, &one);
}

}  // namespace

/// With any argument, the slot is one without namespaces.
int main(int argc, char**) {
  namespace init = polybox::jail::init;
  init::StartOverInCgroup();
  ::prctl(PR_SET_NAME, "polybox-slot");
  KeepCoresFromTheHost();
  // Guests would inherit the signals that the server ignores.
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  constexpr int kOwnImage = 4;  // the executable file of the slot init
  polybox::UniqueFd(kOwnImage).reset();
  ::setsid();
  const int error = argc > 1 ? init::StayInTheHostsNamespaces() : init::EnterNamespaces();
  const bool sent =
      init::Send(3, error == 0 ? init::Encode(init::MessageKind::kDone)
                               : init::Encode(init::Failed{init::Stage::kNamespaces, error, -1}));
  if (error != 0 || !sent) return 1;
  init::SlotInit().Serve();
}
