#include "jail/init/supervisor.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <span>
#include <unistd.h>
#include <utility>

#include <linux/sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/unique_fd.h"
#include "jail/init/cell_init.h"
#include "jail/init/cell_options.h"
#include "jail/init/cpu_share.h"
#include "jail/init/end_tree.h"
#include "jail/init/guest.h"
#include "jail/init/messages.h"
#include "jail/init/raw.h"
#include "jail/init/step_result.h"
#include "jail/init/terminal.h"

namespace polybox::jail::init {
namespace {

/// The exit status of a guest that could not start its program. Nobody reads it: the guest has
/// reported the reason.
constexpr int kNeverStarted = 127;

class Supervisor {
 public:
  Supervisor(const StartProcess& order, const ProcessOptions& lease, Descriptors fds)
      : order_(order), lease_(lease), socket_(fds.Take(0)), given_(std::move(fds)) {}

  [[noreturn]] void Run() {
    ::setsid();
    ::prctl(PR_SET_NAME, "polybox-watch");
    // An outer jail may refuse this; sys/host_facts.cc has found that out.
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (order_.terminal) {
      if (const int error = OpenTerminal(order_.rows, order_.columns, terminal_)) {
        GiveUp({Stage::kTerminal, error, -1});
      }
    }
    StartGuest();
    Serve();
  }

 private:
  static constexpr std::size_t kStreams = 3;

  [[noreturn]] void GiveUp(const Failed& failed) const {
    Send(socket_.get(), Encode(failed));
    ::_exit(1);
  }

  /// Borrowed: what becomes the standard streams of the guest.
  std::array<int, kStreams> streams() const {
    if (order_.terminal) {
      const int end = terminal_.process.get();
      return {end, end, end};
    }
    return {given_[1], given_[2], given_[3]};
  }
  /// Borrowed: the cgroups of the order, behind the socket and the streams.
  std::span<const int> cgroups() const {
    return given_.all().subspan(order_.terminal ? 1 : 1 + kStreams);
  }

  /// Makes a copy of this process, in the cgroup of the order if there is one (v2).
  long Fork() const {
    if (!order_.clone_into || !HasClone3()) return ::fork();
    clone_args args{};
    args.flags = CLONE_INTO_CGROUP;
    args.exit_signal = SIGCHLD;
    args.cgroup = static_cast<std::uint64_t>(cgroups()[order_.join_count]);
    return ::syscall(SYS_clone3, &args, sizeof args);
  }

  /// Makes the guest. The guest holds the only writing end of a pipe until its exec. It writes the
  /// reason of a failure there, and nothing if its program has started.
  void StartGuest() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) GiveUp({Stage::kCell, errno, -1});
    report_.reset(ends[0]);
    const UniqueFd theirs(ends[1]);
    const long made = Fork();
    if (made < 0) GiveUp({order_.clone_into ? Stage::kCgroup : Stage::kCell, errno, -1});
    if (made == 0) BecomeGuest(theirs.get());
    guest_ = static_cast<pid_t>(made);
    // A reader of the guest's output would otherwise wait for this process too. The cgroups could
    // otherwise not be removed at once.
    given_.Close();
    terminal_.process.reset();
  }

  /// Prepares the guest between its clone and its exec, in the same order as waiting.cc does.
  Failed Prepare() const {
    const NextCell next = {.join_count = order_.join_count, .clone_into = order_.clone_into};
    CellOptions options = {lease_.filter, next, cgroups()};
    options.in_namespaces = lease_.in_namespaces;
    options.ruleset = lease_.ruleset;
    options.closed_trees = lease_.closed_trees;
    const StepResult gave_up = GiveUpRights(options);
    if (!gave_up.ok) return gave_up.failed;
    if (order_.terminal) {
      if (const int error = ControlBy(terminal_.process.get()))
        return {Stage::kTerminal, error, -1};
    }
    const StepResult filtered = InstallFilter(lease_.filter);
    if (!filtered.ok) return filtered.failed;
    const StepResult placed = TakePlace(order_.run.directory.c_str(), order_.run.limits, streams());
    if (!placed.ok) return placed.failed;
    return Execute(Pointers(order_.run.argv).data(), Pointers(order_.run.env).data());
  }

  [[noreturn]] void BecomeGuest(int report) const {
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    const auto failed = Encode(Prepare());
    const std::string_view bytes = failed;
    (void)!::write(report, bytes.data(), bytes.size());
    ::_exit(kNeverStarted);
  }

  [[noreturn]] void Serve() {
    sigset_t children;
    ::sigemptyset(&children);
    ::sigaddset(&children, SIGCHLD);
    const UniqueFd ended(::signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK));
    const CpuShare share;
    bool has_more = false;
    while (true) {
      std::array<pollfd, 3> polled = {
          {{ended.get(), POLLIN, 0}, {socket_.get(), POLLIN, 0}, {report_.get(), POLLIN, 0}}};
      ::poll(polled.data(), polled.size(), has_more ? 0 : -1);
      if (polled[2].revents != 0) TakeReport();
      if (polled[1].revents != 0) TakeOrder();
      signalfd_siginfo ignored;
      while (::read(ended.get(), &ignored, sizeof ignored) > 0) {
      }
      has_more = Reap();
      share.Keep();
    }
  }

  /// Reads what the guest has written before its exec, and tells the server.
  void TakeReport() {
    if (!report_.valid()) return;
    char bytes[64];
    const ssize_t size = ::read(report_.get(), bytes, sizeof bytes);
    report_.reset();
    Failed failed;
    if (size > 0 && Decode({bytes, static_cast<std::size_t>(size)}, failed)) {
      has_failed_ = true;
      Send(socket_.get(), Encode(failed));
    } else if (order_.terminal) {
      Send(socket_.get(), Encode(MessageKind::kStarted), {terminal_.master.get()});
    } else {
      Send(socket_.get(), Encode(MessageKind::kStarted));
    }
    // The terminal hangs up when the server closes its end.
    terminal_.master.reset();
  }

  void TakeOrder() {
    Received order;
    // When the server is gone, nobody else ends the tree.
    if (!ReceiveShort(socket_.get(), order)) EndAll();
    SendSignal signal;
    if (KindOf(order.bytes) == MessageKind::kEndTree) {
      if (!IsCounted()) EndAll();
      // The server kills all processes of the cgroup. The guest may not be in it yet.
      if (guest_ > 0) ::kill(guest_, SIGKILL);
    } else if (Decode(order.bytes, signal) && guest_ > 0) {
      ::kill(guest_, signal.number);
    }
  }

  bool IsCounted() const { return order_.join_count > 0 || order_.clone_into; }

  /// Ends all descendants and this process. Reports the end of the tree unless some descendant does
  /// not end.
  [[noreturn]] void EndAll() const {
    Ended ignored;
    if (!EndTree({}, ignored)) ::_exit(1);
    ReportEnd();
  }

  /// Reaps children that have ended. Returns whether there may be more: a tree that makes orphans
  /// in a loop must not keep the supervisor from its orders.
  bool Reap() {
    constexpr int kMostAtOnce = 64;
    for (int i = 0; i < kMostAtOnce; ++i) {
      int status = 0;
      const pid_t pid = ::waitpid(-1, &status, WNOHANG | __WALL);
      if (pid < 0 && errno == ECHILD) ReportEnd();
      if (pid <= 0) return false;
      if (pid == guest_) ReportGuest(status);
    }
    return true;
  }

  void ReportGuest(int status) {
    TakeReport();
    guest_ = -1;
    if (has_failed_) return;
    rusage usage{};
    ::getrusage(RUSAGE_CHILDREN, &usage);
    Send(socket_.get(), Encode(FromUsage(usage, status)));
  }

  [[noreturn]] void ReportEnd() const {
    rusage usage{};
    ::getrusage(RUSAGE_CHILDREN, &usage);
    const Ended used = FromUsage(usage, 0);
    Send(socket_.get(), Encode(TreeEnded{used.user_nanoseconds, used.system_nanoseconds,
                                         used.largest_resident_bytes}));
    ::_exit(0);
  }

  const StartProcess& order_;
  const ProcessOptions& lease_;
  const UniqueFd socket_;
  /// The descriptors of the order, without the socket; empty when the guest has been made.
  Descriptors given_;
  Terminal terminal_;
  /// The main process; -1 when it has ended. Only Reap() reaps it, so its PID is not used again
  /// before that.
  pid_t guest_ = -1;
  /// The reading end of the guest's pipe until the guest has started or failed; then none.
  UniqueFd report_;
  bool has_failed_ = false;
};

}  // namespace

void Supervise(const StartProcess& order, const ProcessOptions& lease, Descriptors fds) {
  Supervisor(order, lease, std::move(fds)).Run();
}

}  // namespace polybox::jail::init
