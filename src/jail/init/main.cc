// The slot init: started by the server from a sealed memfd, talks to it over descriptor 3, ends
// with it.
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
#include <sys/syscall.h>

#include "jail/init/bare_slot.h"
#include "jail/init/slot.h"

namespace polybox::jail::init {
namespace {

constexpr int kServer = 3;

/// No program started from here can ever gain a capability. What we hold ourselves stays.
int DropBoundingSet() {
  for (int capability = 0; ::prctl(PR_CAPBSET_READ, capability) >= 0; ++capability) {
    if (::prctl(PR_CAPBSET_DROP, capability) != 0) return errno;
  }
  return 0;
}

/// Where the server's messages are read. Pages of their own, given back after a large one.
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
        case MessageKind::kNextPod:
          AnswerWithPod(received);
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
        default:
          Answer(StepResult::Failure(Stage::kMessage, EBADMSG));
      }
    }
  }

 private:
  [[noreturn]] void Leave() {
    EndOfRun();
    bare_.Remove();
    ::_exit(0);
  }

  std::string work_directory() const {
    return bare_.exists() ? bare_.work_directory() : "/sandbox";
  }

  Ended EndOfRun() { return bare_.exists() ? bare_.EndPod(pod_) : EndRun(pod_); }

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
    warm_kind_ = setup.warm.kind;
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
    // A change of identity has cleared it.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (const int error = network_.Open()) return StepResult::Failure(Stage::kNetwork, error);
    ipc_.Open();
    last_number_ = ::open("/proc/sys/kernel/ns_last_pid", O_RDWR | O_CLOEXEC);
    // Where guests have our uid, they may not look into us, nor into the pod's init, which shares
    // our memory.
    ::prctl(PR_SET_DUMPABLE, 0);
    const StepResult root = BuildRoot(setup, received.fds, network_, built);
    if (!root.ok) return root;
    for (const Operation& operation : setup.operations) {
      if (operation.kind == OperationKind::kTmpfs) scratch_.push_back({operation});
    }
    RememberScratch(scratch_);
    return InstallFilter(setup.filter_of_slot);
  }

  StepResult TakeFiles(const Received& received) {
    Files files;
    if (!Decode(received.bytes, files) || received.fds.size() != 1) {
      return StepResult::Failure(Stage::kMessage, EBADMSG);
    }
    // A guest that follows them first would be the last one in its pod. This one has not begun.
    if (pod_.may_stay) pod_.links.Settle();
    const auto scratch = std::ranges::find(scratch_, files.directory, &Scratch::path);
    const bool was_untouched = scratch != scratch_.end() && IsUntouched(*scratch);
    const StepResult written = WriteFiles(files, received.fds[0]);
    if (written.ok && was_untouched) RememberFilling(*scratch, files.files);
    return written;
  }

  /// What the last session has in flight it would not let go of by itself.
  int AwaitItsSockets() {
    bool waited = false;
    const OwnSockets ours = {zygote_.socket_numbers(), pod_.control_numbers};
    const int error = network_.sockets().AwaitNone(ours, waited);
    if (!waited) return error;
    // Nothing tells of a lock that was held on what is there.
    DistrustScratch(scratch_);
    EndPod(pod_);
    return error;
  }

  StepResult Wipe() {
    EndOfRun();
    if (bare_.exists()) return bare_.Empty();
    if (const int error = AwaitItsSockets()) return StepResult::Failure(Stage::kNetwork, error);
    // Here already: what the last session left there counts against it until it is gone.
    if (const int error = ipc_.Renew()) return StepResult::Failure(Stage::kNamespaces, error);
    const StepResult emptied = EmptyScratch(scratch_);
    if (!emptied.ok) return emptied;
    const int error = network_.Renew();
    return error == 0 ? StepResult() : StepResult::Failure(Stage::kNetwork, error);
  }

  StepResult TakeSize(const Received& received) {
    Resize size;
    if (!Decode(received.bytes, size)) return StepResult::Failure(Stage::kMessage, EBADMSG);
    return ResizeScratch(scratch_, size);
  }

  void AnswerWithPod(const Received& received) {
    NextPod next;
    if (!Decode(received.bytes, next) || received.fds.size() != next.join_count + next.clone_into) {
      return Answer(StepResult::Failure(Stage::kMessage, EBADMSG));
    }
    EndOfRun();
    DistrustNewScratch(scratch_);
    if (const int error = ipc_.Renew()) {
      return Answer(StepResult::Failure(Stage::kNamespaces, error));
    }
    if (!bare_.exists()) ipc_.Enter();
    if (pod_.namespaces != renewals()) EndPod(pod_);
    PodOptions cold = {filter_, next, received.fds};
    cold.zygote_later = warm_kind_ == WarmKind::kZygote;
    cold.last_number = last_number_;
    const PodOptions options = next.warm ? WithWarmStart(cold) : cold;
    StepResult made = bare_.exists() ? bare_.MakePod(options, pod_) : MakePod(options, pod_);
    if (!made.ok && options.zygote >= 0) {
      zygote_.Stop();
      made = MakePod(cold, pod_);
    }
    if (!made.ok) return Answer(made);
    pod_.namespaces = renewals();
    SendPod();
  }

  /// With what the server does not have already.
  void SendPod() {
    PodReady ready = {pod_.pid, pod_.guest, pod_.warm, zygote_.pid()};
    std::vector<int> fds = {pod_.socket};
    ready.new_init = !pod_.is_known;
    if (ready.new_init) fds.push_back(pod_.pidfd);
    const auto scratch = std::ranges::find(scratch_, work_directory(), &Scratch::path);
    const int mounts = scratch == scratch_.end() ? -1 : scratch->mounts;
    const bool same_work = mounts >= 0 && mounts == known_work_;
    const int work = same_work ? -1 : OpenWorkDirectory(work_directory(), "");
    ready.new_work = work >= 0;
    ready.has_work = same_work || ready.new_work;
    if (ready.new_work) fds.push_back(work);
    // The server's alone then.
    const int listener = network_.TakeEgress();
    ready.new_egress = listener >= 0;
    if (listener >= 0) fds.push_back(listener);
    Send(kServer, Encode(ready), fds);
    for (const int fd : {work, listener}) {
      if (fd >= 0) ::close(fd);
    }
    pod_.is_known = true;
    known_work_ = ready.has_work ? mounts : -1;
  }

  /// How often the namespaces that all pods share were replaced.
  int renewals() const { return network_.renewals() + ipc_.renewals(); }

  PodOptions WithWarmStart(PodOptions options) {
    if (warm_kind_ == WarmKind::kPrestart) options.warm = &*warm_;
    if (warm_kind_ == WarmKind::kZygote && zygote_.Prepare(*warm_, options.next.between_sessions)) {
      options.zygote = zygote_.socket();
      options.zygote_moves = zygote_.MovesTo(renewals());
    }
    return options;
  }

  void AnswerWithDirectory(const Received& received) {
    OpenDirectory asked;
    if (!Decode(received.bytes, asked)) {
      return Answer(StepResult::Failure(Stage::kMessage, EBADMSG));
    }
    if (asked.after_run) EndOfRun();
    const int directory = OpenWorkDirectory(work_directory(), asked.name);
    if (directory < 0) return Answer(StepResult::Failure(Stage::kOpen, errno));
    Send(kServer, Encode(MessageKind::kDone), {directory});
    ::close(directory);
  }

  /// Empty in grades without namespaces, where `bare_` has its own.
  std::vector<Scratch> scratch_;
  BareSlot bare_;
  Network network_;
  Ipc ipc_;
  /// See PodOptions.
  int last_number_ = -1;
  std::string filter_;
  WarmKind warm_kind_ = WarmKind::kNone;
  std::optional<WarmCommand> warm_;
  Zygote zygote_;
  Pod pod_;
  /// How often the working directory that the server has was mounted; -1 when it has none.
  int known_work_ = -1;
};

/// Descriptor 5, if there is one, is the cgroup that we belong in (v2). To be moved there takes the
/// kernel milliseconds, to be born there nothing: a copy of us, as much the server's child, goes
/// on.
void StartOverInCgroup() {
  constexpr int kCgroup = 5;
  if (::fcntl(kCgroup, F_GETFD) < 0) return;
  clone_args args{};
  args.flags = CLONE_INTO_CGROUP | CLONE_PARENT;
  args.cgroup = kCgroup;
  const long copy = ::syscall(SYS_clone3, &args, sizeof args);
  if (copy != 0) ::_exit(copy < 0 ? errno : 0);
  ::close(kCgroup);
}

/// The slot's namespaces. The server then writes the uid map, which needs rights that we no longer
/// have.
int EnterNamespaces() {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWIPC) != 0)
    return errno;
  // The server must be able to write our maps.
  return ::prctl(PR_SET_DUMPABLE, 1) == 0 ? 0 : errno;
}

/// Without namespaces the death of the server must not be ours: there is a tree to end first. We
/// learn of it by the socket.
int StayInTheHostsNamespaces() {
  return ::prctl(PR_SET_DUMPABLE, 0) == 0 ? 0 : errno;
}

}  // namespace
}  // namespace polybox::jail::init

/// Any argument means: without namespaces.
int main(int argc, char**) {
  namespace init = polybox::jail::init;
  init::StartOverInCgroup();
  ::prctl(PR_SET_NAME, "polybox-slot");
  // What the server ignores, guests would too.
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  ::close(4);  // our own image
  ::setsid();
  const int error = argc > 1 ? init::StayInTheHostsNamespaces() : init::EnterNamespaces();
  const bool sent =
      init::Send(3, error == 0 ? init::Encode(init::MessageKind::kDone)
                               : init::Encode(init::Failed{init::Stage::kNamespaces, error, -1}));
  if (error != 0 || !sent) return 1;
  init::SlotInit().Serve();
}
