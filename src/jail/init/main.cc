// The slot init: started by the server from a sealed memfd, talks to it over descriptor 3, ends
// with it.
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <unistd.h>

#include <sys/prctl.h>

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

class SlotInit {
 public:
  [[noreturn]] void Serve() {
    while (true) {
      Received received;
      if (!Receive(kServer, received)) Leave();
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
          Send(kServer, Encode(EndPod(pod_)));
          break;
        case MessageKind::kWipe:
          EndPod(pod_);
          Answer(EmptyScratch(scratch_));
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
    EndPod(pod_);
    ::_exit(0);
  }

  static void Answer(const StepResult& result) {
    Send(kServer, result.ok ? Encode(MessageKind::kDone) : Encode(result.failed));
  }

  void AnswerSetUp(const Received& received) {
    int listener = -1;
    const StepResult result = SetUp(received, listener);
    if (!result.ok || listener < 0) {
      Answer(result);
    } else {
      Send(kServer, Encode(MessageKind::kDone), {listener});
    }
    if (listener >= 0) ::close(listener);
  }

  StepResult SetUp(const Received& received, int& listener) {
    Setup setup;
    if (!Decode(received.bytes, setup)) return StepResult::Failure(Stage::kMessage, EBADMSG);
    if (setup.has_root &&
        (::setgroups(0, nullptr) != 0 || ::setresgid(0, 0, 0) != 0 || ::setresuid(0, 0, 0) != 0)) {
      return StepResult::Failure(Stage::kIdentity, errno);
    }
    if (const int error = DropBoundingSet()) return StepResult::Failure(Stage::kDrop, error);
    // A change of identity has cleared it.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const StepResult built = BuildRoot(setup, received.fds, listener);
    if (!built.ok) return built;
    for (const Operation& operation : setup.operations) {
      if (operation.kind == OperationKind::kTmpfs) scratch_.push_back({operation, {}});
    }
    RememberScratch(scratch_);
    seccomp_ = setup.seccomp;
    return {};
  }

  static StepResult TakeFiles(const Received& received) {
    Files files;
    if (!Decode(received.bytes, files) || received.fds.size() != 1) {
      return StepResult::Failure(Stage::kMessage, EBADMSG);
    }
    return WriteFiles(files, received.fds[0]);
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
    EndPod(pod_);
    const StepResult made = MakePod({seccomp_, next, received.fds}, pod_);
    if (!made.ok) return Answer(made);
    Send(kServer, Encode(PodReady{pod_.pid, pod_.guest}), {pod_.socket, pod_.pidfd});
  }

  static void AnswerWithDirectory(const Received& received) {
    OpenDirectory asked;
    if (!Decode(received.bytes, asked)) {
      return Answer(StepResult::Failure(Stage::kMessage, EBADMSG));
    }
    const int directory = OpenWorkDirectory(asked.name);
    if (directory < 0) return Answer(StepResult::Failure(Stage::kOpen, errno));
    Send(kServer, Encode(MessageKind::kDone), {directory});
    ::close(directory);
  }

  std::vector<Scratch> scratch_;
  std::string seccomp_;
  Pod pod_;
};

/// The slot's namespaces. The server then writes the uid map, which needs rights that we no longer
/// have.
int EnterNamespaces() {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::prctl(PR_SET_NAME, "polybox-slot");
  // What the server ignores, guests would too.
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  ::close(4);  // our own image
  ::setsid();
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWUTS) != 0) return errno;
  // The server must be able to write our maps.
  return ::prctl(PR_SET_DUMPABLE, 1) == 0 ? 0 : errno;
}

}  // namespace
}  // namespace polybox::jail::init

int main() {
  namespace init = polybox::jail::init;
  const int error = init::EnterNamespaces();
  const bool sent =
      init::Send(3, error == 0 ? init::Encode(init::MessageKind::kDone)
                               : init::Encode(init::Failed{init::Stage::kNamespaces, error, -1}));
  if (error != 0 || !sent) return 1;
  init::SlotInit().Serve();
}
