// The slot init: started by the server from a sealed memfd, talks to it over descriptor 3, ends
// with it.
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <unistd.h>

#include <sys/prctl.h>

#include "jail/init/bare_slot.h"
#include "jail/init/slot.h"

namespace polybox::jail::init {
namespace {

constexpr int kServer = 3;

std::uint64_t Now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(time.tv_nsec);
}

/// Processor time of the guest's cgroup so far, in nanoseconds; 0 when it cannot be read. v1 has
/// the number, v2 a list of counters in microseconds of which ours is the first.
std::uint64_t ReadCpu(int fd) {
  constexpr std::string_view kV2 = "usage_usec ";
  char text[64] = {};
  if (fd < 0 || ::pread(fd, text, sizeof text - 1, 0) <= 0) return 0;
  if (!std::string_view(text).starts_with(kV2)) return std::strtoull(text, nullptr, 10);
  return std::strtoull(text + kV2.size(), nullptr, 10) * 1000;
}

/// A guest that has used up its share of the processor would die only when it gets the next one.
void LiftQuota(int fd) {
  if (fd >= 0 && ::write(fd, "-1", 2) < 0) {
    const ssize_t ignored = ::write(fd, "max", 3);
    (void)ignored;
  }
}

/// Where the descriptors for watching the processor time begin in a run's message.
std::size_t WatchAt(const Run& run) {
  return 3 + run.join_count + (run.clone_into ? 1 : 0);
}

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
          Answer(SetUp(received));
          break;
        case MessageKind::kFiles:
          Answer(TakeFiles(received));
          break;
        case MessageKind::kRun:
          RunOne(received);
          break;
        case MessageKind::kWipe:
          Answer(Wipe());
          break;
        default:
          // A late signal to a run that has just ended needs no answer.
          break;
      }
    }
  }

 private:
  [[noreturn]] void Leave() {
    EndOfPod(nullptr);
    bare_.Remove();
    ::_exit(0);
  }

  StepResult NextPod() {
    return bare_.exists() ? bare_.MakePod(seccomp_, pod_) : MakePod(seccomp_, pod_);
  }

  void EndOfPod(Ended* ended) { bare_.exists() ? bare_.EndPod(pod_, ended) : EndPod(pod_, ended); }

  static void Answer(const StepResult& result) {
    Send(kServer, result.ok ? Encode(MessageKind::kDone) : Encode(result.failed));
  }

  StepResult SetUp(const Received& received) {
    Setup setup;
    if (!Decode(received.bytes, setup)) return StepResult::Failure(Stage::kMessage, EBADMSG);
    seccomp_ = setup.seccomp;
    if (setup.bare.walls != Walls::kNamespaces) {
      const StepResult made = bare_.SetUp(setup);
      return made.ok ? NextPod() : made;
    }
    if (setup.has_root &&
        (::setgroups(0, nullptr) != 0 || ::setresgid(0, 0, 0) != 0 || ::setresuid(0, 0, 0) != 0)) {
      return StepResult::Failure(Stage::kIdentity, errno);
    }
    if (const int error = DropBoundingSet()) return StepResult::Failure(Stage::kDrop, error);
    // A change of identity has cleared it.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const StepResult built = BuildRoot(setup, received.fds);
    if (!built.ok) return built;
    for (const Operation& operation : setup.operations) {
      if (operation.kind == OperationKind::kTmpfs) scratch_.push_back({operation, {}});
    }
    RememberScratch(scratch_);
    return NextPod();
  }

  static StepResult TakeFiles(const Received& received) {
    Files files;
    if (!Decode(received.bytes, files) || received.fds.size() != 1) {
      return StepResult::Failure(Stage::kMessage, EBADMSG);
    }
    return WriteFiles(files, received.fds[0]);
  }

  StepResult Wipe() {
    EndOfPod(nullptr);
    const StepResult emptied = bare_.exists() ? bare_.Empty() : EmptyScratch(scratch_);
    return emptied.ok ? NextPod() : emptied;
  }

  void RunOne(const Received& received) {
    Run run;
    if (!Decode(received.bytes, run) ||
        received.fds.size() < WatchAt(run) + (run.watch_cpu ? 2 : 0)) {
      return Answer(StepResult::Failure(Stage::kMessage, EBADMSG));
    }
    // A second step of the same session (compile, then run) needs a pod of its own.
    if (!pod_.exists()) {
      const StepResult made = NextPod();
      if (!made.ok) return Answer(made);
    }
    if (const StepResult resized = ResizeScratch(scratch_, run); !resized.ok)
      return Answer(resized);
    const std::uint64_t begin = Now();
    Send(pod_.socket, received.bytes, received.fds);
    const int cpu_fd = run.watch_cpu ? received.fds[WatchAt(run)] : -1;
    const int quota_fd = run.watch_cpu ? received.fds[WatchAt(run) + 1] : -1;
    Ended ended;
    Failed failed;
    const bool started = Watch(run, cpu_fd, begin, ended, failed);
    ended.wall_nanoseconds = Now() - begin;
    // A guest that ended by itself has said all there is to know: the rest of its pod is killed now
    // and reaped after the answer. One that we stop is only accounted for once it is gone.
    const bool by_itself = ended.kind == EndKind::kExited || ended.kind == EndKind::kSignalled;
    if (by_itself) {
      // Where no kernel does it, the rest of the tree is ended before the answer.
      bare_.exists() ? EndOfPod(nullptr) : (void)::kill(pod_.pid, SIGKILL);
      Send(kServer, started ? Encode(ended) : Encode(failed));
      return EndOfPod(nullptr);
    }
    LiftQuota(quota_fd);
    EndOfPod(&ended);
    Send(kServer, Encode(ended));
  }

  /// Waits until the guest ends or one of its limits is reached. False when it never started.
  bool Watch(const Run& run, int cpu_fd, std::uint64_t begin, Ended& ended, Failed& failed) {
    const std::uint64_t deadline = begin + run.wall_nanoseconds;
    const std::uint64_t used_before = ReadCpu(cpu_fd);
    while (true) {
      const std::uint64_t now = Now();
      std::uint64_t next = deadline;
      if (now >= deadline) {
        ended.kind = EndKind::kWallTime;
        return true;
      }
      if (cpu_fd >= 0 && run.cpu_nanoseconds > 0) {
        const std::uint64_t used = ReadCpu(cpu_fd) - used_before;
        if (used >= run.cpu_nanoseconds) {
          ended.kind = EndKind::kCpuTime;
          return true;
        }
        // The earliest moment at which the rest can be used up.
        const std::uint64_t left = run.cpu_nanoseconds - used;
        next = std::min(next, now + left * 1000 / (run.cpu_nanoseconds_per_second / 1'000'000));
      }
      pollfd polled[2] = {{pod_.socket, POLLIN, 0}, {kServer, POLLIN, 0}};
      const timespec wait = {static_cast<time_t>((next - now) / 1'000'000'000U),
                             static_cast<long>((next - now) % 1'000'000'000U)};
      if (::ppoll(polled, 2, &wait, nullptr) <= 0) continue;
      if (polled[0].revents != 0) return TakeEnd(ended, failed);
      if (polled[1].revents != 0 && !StillWanted()) {
        ended.kind = EndKind::kKilled;
        return true;
      }
    }
  }

  /// What the pod says about its guest.
  bool TakeEnd(Ended& ended, Failed& failed) const {
    Received received;
    if (Receive(pod_.socket, received)) {
      if (Decode(received.bytes, ended)) return true;
      if (Decode(received.bytes, failed)) return false;
    }
    // The pod's init is gone without a word: something outside killed it.
    ended.kind = EndKind::kSignalled;
    ended.signal = SIGKILL;
    return true;
  }

  /// A message of the server during a run can only be a signal. Its end closing ends everything.
  bool StillWanted() {
    Received received;
    if (!Receive(kServer, received)) Leave();
    Signal signal;
    if (!Decode(received.bytes, signal)) return true;
    if (signal.number == SIGKILL) return false;
    ::kill(pod_.pid, signal.number);  // its init passes it on
    return true;
  }

  std::vector<Scratch> scratch_;
  /// In grades without namespaces.
  BareSlot bare_;
  std::string seccomp_;
  Pod pod_;
};

/// The slot's namespaces. The server then writes the uid map, which needs rights that we no longer
/// have.
int EnterNamespaces() {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWUTS) != 0) return errno;
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
  ::prctl(PR_SET_NAME, "polybox-slot");
  ::close(4);  // our own image
  ::setsid();
  const int error = argc > 1 ? init::StayInTheHostsNamespaces() : init::EnterNamespaces();
  const bool sent =
      init::Send(3, error == 0 ? init::Encode(init::MessageKind::kDone)
                               : init::Encode(init::Failed{init::Stage::kNamespaces, error, -1}));
  if (error != 0 || !sent) return 1;
  init::SlotInit().Serve();
}
