#include "jail/lease.h"

#include <algorithm>
#include <csignal>
#include <poll.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "jail/from_cell.h"
#include "jail/init/messages.h"
#include "jail/init/protocol.h"
#include "jail/process_state.h"
#include "jail/resource_limits.h"
#include "sys/pipe.h"

namespace polybox::jail {
namespace {

/// A lease init or a supervisor that has not answered by then, even on the busiest machine, never
/// will.
constexpr int kMostSeconds = 20;

constexpr const char* kTerminalDevice = "/dev/tty";

struct Sockets {
  UniqueFd ours;
  UniqueFd theirs;
};

Result<Sockets> MakeSockets() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return Error::FromErrno("make a socket for a lease");
  }
  Sockets sockets = {UniqueFd(ends[0]), UniqueFd(ends[1])};
  const timeval most = {kMostSeconds, 0};
  ::setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
  // The kernel then tells the sender of each message, as a PID of the server's namespace.
  const int on = 1;
  ::setsockopt(ends[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
  return sockets;
}

/// The streams of a process: the descriptors that it gets, and our ends of its pipes.
struct Streams {
  std::vector<int> given;
  /// The process's ends of pipes, which are closed here when it has them.
  std::vector<UniqueFd> theirs;
  ProcessStreams ours;
};

Result<Streams> MakeStreams(const ProcessRequest& request) {
  Streams streams;
  if (request.terminal) return streams;
  const std::pair<int, UniqueFd*> wanted[] = {{request.stdin_fd, &streams.ours.stdin_pipe},
                                              {request.stdout_fd, &streams.ours.stdout_pipe},
                                              {request.stderr_fd, &streams.ours.stderr_pipe}};
  for (const auto& [fd, end] : wanted) {
    if (fd >= 0) {
      streams.given.push_back(fd);
      continue;
    }
    POLYBOX_ASSIGN_OR_RETURN(sys::Pipe pipe, sys::MakePipe());
    const bool is_input = end == &streams.ours.stdin_pipe;
    UniqueFd& process_end = is_input ? pipe.reader : pipe.writer;
    *end = std::move(is_input ? pipe.writer : pipe.reader);
    streams.given.push_back(process_end.get());
    streams.theirs.push_back(std::move(process_end));
  }
  return streams;
}

init::StartProcess OrderFor(const ProcessRequest& request, const sys::SlotCgroup* cgroup) {
  init::StartProcess order;
  order.run.argv = request.argv;
  order.run.env = request.env;
  order.run.directory = request.directory;
  order.terminal = request.terminal.has_value();
  if (request.terminal) {
    order.rows = request.terminal->rows;
    order.columns = request.terminal->columns;
  }
  if (cgroup == nullptr) return order;
  order.join_count = static_cast<std::uint32_t>(cgroup->JoinFds().size());
  order.clone_into = cgroup->capabilities().version == sys::CgroupVersion::kV2;
  return order;
}

}  // namespace

Lease::Lease(BuiltSlot built, const sys::CgroupLimits& limits)
    : built_(std::move(built)), limits_(limits), waker_(std::make_shared<Waker>()) {}

Lease::~Lease() {
  watcher_.request_stop();
  waker_->Wake();
  if (watcher_.joinable()) watcher_.join();
  if (init_.valid()) ::syscall(SYS_pidfd_send_signal, init_.get(), SIGKILL, nullptr, 0);
  built_.End();
  // The lease init is the last process of its PID namespace to end.
  constexpr int kMostMilliseconds = 5000;
  pollfd polled = {init_.get(), POLLIN, 0};
  if (init_.valid()) ::poll(&polled, 1, kMostMilliseconds);
  for (const auto& process : processes_) process->LoseLease();
}

Result<std::unique_ptr<Lease>> Lease::Make(LeaseOptions options) {
  Spec& spec = options.slot.spec;
  spec.for_lease = true;
  spec.warm = {};
  ShowPath(spec, kTerminalDevice);
  POLYBOX_ASSIGN_OR_RETURN(BuiltSlot built, BuiltSlot::Make(options.slot));
  std::unique_ptr<Lease> lease(new Lease(std::move(built), options.limits));
  POLYBOX_RETURN_IF_ERROR(lease->Open().In("make a lease"));
  return lease;
}

Status Lease::Open() {
  if (built_.cgroup() != nullptr) POLYBOX_RETURN_IF_ERROR(built_.cgroup()->SetLimits(limits_));
  POLYBOX_ASSIGN_OR_RETURN(Sockets sockets, MakeSockets());
  if (!init::Send(built_.socket(), init::Encode(init::MessageKind::kOpenLease),
                  {sockets.theirs.get()})) {
    return Error::FromErrno("ask for a lease init");
  }
  init::Received received;
  if (!init::ReceiveShort(built_.socket(), received)) {
    return Error(ErrorKind::kSystem, "the slot init is gone");
  }
  if (init::KindOf(received.bytes) != init::MessageKind::kDone || received.fds.empty()) {
    return built_.ToError("start the lease init", received);
  }
  init_ = received.fds.Take(0);
  if (received.fds.size() > 1) egress_ = received.fds.Take(1);
  sockets.theirs.reset();
  init::Received ready;
  if (!init::ReceiveShort(sockets.ours.get(), ready)) {
    return Error(ErrorKind::kSystem, "the lease init is gone");
  }
  if (init::KindOf(ready.bytes) != init::MessageKind::kDone) {
    return built_.ToError("start the lease init", ready);
  }
  control_ = std::move(sockets.ours);
  watcher_ = std::jthread([this](const std::stop_token& stop) { WatchAll(stop); });
  return {};
}

bool Lease::Alive() const {
  pollfd polled = {init_.get(), POLLIN, 0};
  return ::poll(&polled, 1, 0) == 0;
}

bool Lease::IsBusy() const {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(processes_, [](const auto& process) { return !process->gone(); });
}

bool Lease::IsOutOfMemory() const {
  // A single process may simply have wanted too much.
  constexpr int kMostStarved = 2;
  return starved_in_a_row_ >= kMostStarved && !IsBusy();
}

Result<std::optional<sys::SlotCgroup>> Lease::MakeCgroup(const RunLimits& limits) {
  if (built_.cgroup() == nullptr) return std::optional<sys::SlotCgroup>();
  unsigned number = 0;
  {
    const std::lock_guard lock(mutex_);
    number = ++started_;
  }
  POLYBOX_ASSIGN_OR_RETURN(sys::SlotCgroup cgroup,
                           built_.cgroup()->MakeInner(fmt::format("process-{}", number)));
  POLYBOX_RETURN_IF_ERROR(cgroup.AllowStarter(built_.starter()));
  POLYBOX_RETURN_IF_ERROR(cgroup.SetLimits(GroupLimits(limits)));
  return std::optional(std::move(cgroup));
}

Result<Process> Lease::Start(const ProcessRequest& request) {
  POLYBOX_ASSIGN_OR_RETURN(std::optional<sys::SlotCgroup> cgroup, MakeCgroup(request.limits));
  POLYBOX_ASSIGN_OR_RETURN(Sockets sockets, MakeSockets());
  sys::SetNonBlocking(sockets.ours.get());
  POLYBOX_ASSIGN_OR_RETURN(Streams streams, MakeStreams(request));
  // Where the lease has a uid of its own, the kernel counts the processes of all trees together
  // against this limit of each process. With the uid of polybox, ResourceLimits() makes room for
  // many neighbours; a larger limit would let a fork bomb outrun the supervisor.
  RunLimits kernel_limits = request.limits;
  const TaskCounter counter = built_.CountedBy();
  if (counter == TaskCounter::kUid) kernel_limits.processes = limits_.processes;
  HeldResources held = HoldResources(kernel_limits, counter);
  init::StartProcess order = OrderFor(request, cgroup ? &*cgroup : nullptr);
  order.run.limits = std::move(held.limits);
  std::vector<int> fds = {sockets.theirs.get()};
  fds.insert(fds.end(), streams.given.begin(), streams.given.end());
  if (cgroup) {
    const std::vector<int> joined = cgroup->JoinFds();
    fds.insert(fds.end(), joined.begin(), joined.end());
    if (order.clone_into) fds.push_back(cgroup->CloneFd());
  }
  auto state = std::make_shared<ProcessState>(
      ProcessState::Parts{
          .socket = std::move(sockets.ours), .cgroup = std::move(cgroup), .waker = waker_},
      TreeFacts{.limits = request.limits,
                .program = request.argv.empty() ? "" : request.argv[0],
                .lowered = std::move(held.lowered),
                .home = built_.home()});
  POLYBOX_RETURN_IF_ERROR(SendOrder(init::Encode(order), std::move(fds)).In("start a process"));
  sockets.theirs.reset();
  streams.theirs.clear();
  {
    const std::lock_guard lock(mutex_);
    processes_.push_back(state);
  }
  waker_->Wake();
  Process process(state, std::move(streams.ours));
  if (!state->WaitForStart(std::chrono::seconds(kMostSeconds))) {
    return Error(ErrorKind::kSystem, "start a process: its supervisor does not answer");
  }
  process.streams().terminal = state->TakeTerminal();
  return process;
}

Result<std::vector<int>> Lease::Seal(const std::vector<SealedPath>& paths) {
  std::vector<int> errors;
  while (errors.size() < paths.size()) {
    POLYBOX_RETURN_IF_ERROR(SealSome(paths, errors.size(), errors).In("seal files of a lease"));
  }
  return errors;
}

Status Lease::SealSome(const std::vector<SealedPath>& paths, std::size_t first,
                       std::vector<int>& errors) {
  init::SealPaths order;
  // Far below kLargestMessage, whatever the lengths of the numbers are.
  std::size_t room = init::kLargestMessage / 2;
  for (std::size_t i = first; i < paths.size() && paths[i].path.size() < room; ++i) {
    constexpr std::size_t kNumbers = 32;
    room -= std::min(room, paths[i].path.size() + kNumbers);
    order.paths.push_back(paths[i]);
  }
  if (order.paths.empty()) return Error(ErrorKind::kInvalid, "a path is too long");
  POLYBOX_ASSIGN_OR_RETURN(Sockets sockets, MakeSockets());
  POLYBOX_RETURN_IF_ERROR(SendOrder(init::Encode(order), {sockets.theirs.get()}));
  sockets.theirs.reset();
  init::Received received;
  init::Sealed sealed;
  if (!init::Receive(sockets.ours.get(), received) || !init::Decode(received.bytes, sealed) ||
      sealed.results.size() != order.paths.size()) {
    return Error(ErrorKind::kSystem, "the lease init does not answer");
  }
  for (const init::SealResult& result : sealed.results) errors.push_back(result.error);
  return {};
}

Status Lease::SendOrder(const std::string& message, std::vector<int> fds) {
  POLYBOX_RETURN_IF_ERROR(CheckSize(message));
  const std::lock_guard lock(mutex_);
  if (init::Send(control_.get(), message, fds)) return {};
  return Error::FromErrno("send the order");
}

std::vector<std::shared_ptr<ProcessState>> Lease::Processes() {
  const std::lock_guard lock(mutex_);
  std::erase_if(processes_,
                [](const auto& process) { return process.use_count() == 1 && process->gone(); });
  return processes_;
}

void Lease::Hear(ProcessState& process) {
  const bool had_ended = process.Wait(Duration::zero()).has_value();
  process.Hear();
  const std::optional<Outcome> outcome = process.Wait(Duration::zero());
  if (had_ended || !outcome) return;
  starved_in_a_row_ = outcome->end == jail::End::kOutOfMemory ? starved_in_a_row_ + 1 : 0;
}

void Lease::WatchAll(const std::stop_token& stop) {
  std::vector<pollfd> polled;
  while (!stop.stop_requested()) {
    // Declared here, so that a process that nobody asks about is forgotten in the next round.
    const std::vector<std::shared_ptr<ProcessState>> processes = Processes();
    polled.assign(1, {waker_->fd(), POLLIN, 0});
    auto due = Watch::Clock::time_point::max();
    for (const auto& process : processes) {
      polled.push_back({process->socket(), POLLIN, 0});
      due = std::min(due, process->Due());
    }
    const auto wait = std::max(due - Watch::Clock::now(), Watch::Clock::duration::zero());
    const timespec time = {wait.count() / 1'000'000'000, wait.count() % 1'000'000'000};
    const bool forever = due == Watch::Clock::time_point::max();
    if (::ppoll(polled.data(), polled.size(), forever ? nullptr : &time, nullptr) < 0) continue;
    waker_->Settle();
    for (std::size_t i = 0; i < processes.size(); ++i) {
      if (polled[i + 1].revents != 0) Hear(*processes[i]);
    }
    const auto now = Watch::Clock::now();
    for (const auto& process : processes) process->Check(now);
  }
}

}  // namespace polybox::jail
