#include "jail/init/lease_init.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <unistd.h>
#include <utility>

#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include "base/unique_fd.h"
#include "jail/init/messages.h"
#include "jail/init/proc.h"
#include "jail/init/protocol.h"
#include "jail/init/seal.h"

namespace polybox::jail::init {
namespace {

// The descriptors of a lease init: its socket to the server, and the Landlock ruleset.
constexpr int kControl = 3;
constexpr int kRuleset = 4;

class LeaseInit {
 public:
  LeaseInit(const ProcessOptions& options, int control)
      : options_{options.filter, options.in_namespaces, options.ruleset < 0 ? -1 : kRuleset,
                 options.closed_trees, options.guards_proc} {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::prctl(PR_SET_NAME, "polybox-lease");
    KeepDescriptors(control, options.ruleset);
    control_.reset(kControl);
    sigset_t children;
    ::sigemptyset(&children);
    ::sigaddset(&children, SIGCHLD);
    ::sigprocmask(SIG_BLOCK, &children, nullptr);
    ended_.reset(::signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK));
  }

  [[noreturn]] void Serve() {
    const int error = options_.in_namespaces ? OwnProc() : BecomeSubreaper();
    if (error != 0) {
      Send(control_.get(), Encode(Failed{Stage::kCell, error, -1}));
      ::_exit(1);
    }
    Send(control_.get(), Encode(MessageKind::kDone));
    while (true) {
      std::array<pollfd, 2> polled = {{{ended_.get(), POLLIN, 0}, {control_.get(), POLLIN, 0}}};
      ::poll(polled.data(), polled.size(), -1);
      if (polled[1].revents != 0) TakeOrder();
      signalfd_siginfo ignored;
      while (::read(ended_.get(), &ignored, sizeof ignored) > 0) {
      }
      while (::waitpid(-1, nullptr, WNOHANG | __WALL) > 0) {
      }
    }
  }

 private:
  /// Closes all descriptors but the lease init's own. The slot init's socket would otherwise stay
  /// open to the server when the slot init has ended.
  static void KeepDescriptors(int control, int ruleset) {
    // Both are first moved above their final numbers, so that neither overwrites the other.
    const int high_control = ::fcntl(control, F_DUPFD_CLOEXEC, kRuleset + 1);
    const int high_ruleset = ruleset < 0 ? -1 : ::fcntl(ruleset, F_DUPFD_CLOEXEC, kRuleset + 1);
    ::dup3(high_control, kControl, O_CLOEXEC);
    if (high_ruleset >= 0) ::dup3(high_ruleset, kRuleset, O_CLOEXEC);
    ::close_range(high_ruleset < 0 ? kRuleset : kRuleset + 1, ~0U, 0);
  }

  int OwnProc() const {
    if (const int error = MountProc()) return error;
    return options_.guards_proc ? GuardProc() : 0;
  }

  /// The orphans of a supervisor that was killed become children of the lease init.
  static int BecomeSubreaper() {
    // An outer jail may refuse this, as in BareSlot::SetUp().
    (void)::prctl(PR_SET_CHILD_SUBREAPER, 1);
    return 0;
  }

  void TakeOrder() {
    Received received;
    // When the server is gone, this process ends, and with it every process of the namespace.
    if (!Receive(control_.get(), received)) ::_exit(0);
    if (KindOf(received.bytes) == MessageKind::kSealPaths) return SealAll(received);
    StartSupervisor(received);
  }

  void SealAll(const Received& received) const {
    SealPaths order;
    if (!Decode(received.bytes, order) || received.fds.size() != 1) return;
    Sealed sealed;
    for (const Seal& seal : order.paths) {
      sealed.results.push_back({options_.in_namespaces ? SealPath(seal) : ENOSYS});
    }
    Send(received.fds[0], Encode(sealed));
  }

  /// Makes a supervisor. Its failures are reported on the process's own socket.
  void StartSupervisor(Received& received) {
    StartProcess order;
    if (!Decode(received.bytes, order) || received.fds.size() != DescriptorsOf(order)) return;
    const pid_t pid = ::fork();
    if (pid == 0) {
      control_.reset();
      ended_.reset();
      Supervise(order, options_, std::move(received.fds));
    }
    if (pid < 0) Send(received.fds[0], Encode(Failed{Stage::kCell, errno, -1}));
  }

  static std::size_t DescriptorsOf(const StartProcess& order) {
    constexpr std::size_t kSocket = 1;
    constexpr std::size_t kStreams = 3;
    return kSocket + (order.terminal ? 0 : kStreams) + order.join_count + order.clone_into;
  }

  ProcessOptions options_;
  UniqueFd control_;
  UniqueFd ended_;
};

}  // namespace

long StartLease(const ProcessOptions& options, int control) {
  if (options.in_namespaces && ::unshare(CLONE_NEWPID) != 0) return -errno;
  const pid_t pid = ::fork();
  if (pid < 0) return -errno;
  if (pid == 0) LeaseInit(options, control).Serve();
  return pid;
}

}  // namespace polybox::jail::init
