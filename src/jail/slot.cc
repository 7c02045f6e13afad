#include "jail/slot.h"

#include <algorithm>
#include <csignal>
#include <fcntl.h>
#include <mutex>
#include <poll.h>
#include <unistd.h>

#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/files.h"
#include "jail/from_cell.h"
#include "jail/guest_process.h"
#include "jail/init/messages.h"
#include "jail/init/protocol.h"
#include "jail/resource_limits.h"
#include "jail/watch.h"
#include "sys/guest_tree.h"

namespace polybox::jail {
/// The present cell. The slot's thread alone writes all fields but `cancelled`. What Signal() uses
/// (`pidfd`, `running`, `cancelled`) is written under `mutex`, since Signal() runs on any thread.
struct Slot::Live {
  std::mutex mutex;
  UniqueFd socket;
  UniqueFd pidfd;
  pid_t init = -1;
  pid_t guest = -1;
  /// The guest is an interpreter that has started already.
  bool warm = false;
  pid_t zygote = -1;
  /// The interpreter may still be starting; it sends Done when it is ready.
  bool starting = false;
  /// Run() has begun and not ended: only then Signal() may send a signal.
  bool running = false;
  bool cancelled = false;
};

Slot::Slot(BuiltSlot built) : built_(std::move(built)), live_(std::make_unique<Live>()) {}

Slot::Slot(Slot&& other) noexcept = default;

Slot::~Slot() {
  if (!built_.exists()) return;
  const pid_t zygote_pid = live_->zygote;
  const UniqueFd zygote(zygote_pid > 0 ? static_cast<int>(::syscall(SYS_pidfd_open, zygote_pid, 0))
                                       : -1);
  built_.End();
  // The cell's init is the last process of a cell to end. Cgroups can only be removed when they are
  // empty, and on a busy machine that takes a while.
  constexpr int kMostMilliseconds = 5000;
  for (const int left : {live_->pidfd.get(), zygote.get()}) {
    pollfd polled = {left, POLLIN, 0};
    if (left >= 0) ::poll(&polled, 1, kMostMilliseconds);
  }
}

Result<Slot> Slot::Make(const SlotOptions& options) {
  POLYBOX_ASSIGN_OR_RETURN(BuiltSlot built, BuiltSlot::Make(options));
  Slot slot(std::move(built));
  POLYBOX_RETURN_IF_ERROR(slot.Begin(options.spec).In("make a slot"));
  return slot;
}

Status Slot::Begin(const Spec& spec) {
  disk_ = first_disk_ = spec.scratch;
  inodes_ = first_inodes_ = static_cast<std::int64_t>(spec.scratch_inodes);
  const bool waits = spec.warm.start.kind != init::WarmKind::kNone;
  if (waits && cgroup()) waiting_limits_ = spec.warm.limits;
  POLYBOX_RETURN_IF_ERROR(LimitWhoWaits());
  POLYBOX_RETURN_IF_ERROR(AskForCell(Start::kIfReady));
  return AwaitCell();
}

Status Slot::AskForCell(Start start) {
  init::NextCell next;
  next.warm = start != Start::kCold;
  next.between_sessions = start == Start::kWarm;
  std::vector<int> fds;
  if (cgroup()) {
    POLYBOX_RETURN_IF_ERROR(cgroup()->MakeRoomToWait());
    fds = cgroup()->JoinFds();
    next.join_count = static_cast<std::uint32_t>(fds.size());
    // On v1 there may be a directory without controllers too: not worth its cost on every run.
    next.clone_into = cgroup()->capabilities().version == sys::CgroupVersion::kV2;
    if (next.clone_into) fds.push_back(cgroup()->CloneFd());
    next.counted = cgroup()->capabilities().counts_cpu;
  }
  if (init::Send(built_.socket(), init::Encode(next), fds)) return {};
  return Error::FromErrno("ask for a cell");
}

Status Slot::AwaitCell() {
  init::Received received;
  if (!init::ReceiveShort(built_.socket(), received)) {
    return Error(ErrorKind::kSystem, "make a cell: the slot init is gone");
  }
  init::CellReady ready;
  if (!init::Decode(received.bytes, ready)) return built_.ToError("make a cell", received);
  const std::size_t expected = 1U + ready.new_init + ready.new_work + ready.new_egress;
  if (received.fds.size() != expected) return built_.ToError("make a cell", received);
  std::size_t next = 0;
  const auto take = [&] { return received.fds.Take(next++); };
  {
    const std::lock_guard lock(live_->mutex);
    live_->socket = take();
    if (ready.new_init) live_->pidfd = take();
    live_->init = ready.init;
    live_->guest = ready.guest;
    live_->warm = ready.warm;
    live_->zygote = ready.zygote;
    live_->starting = ready.warm && ready.zygote <= 0;
    if (!live_->running) live_->cancelled = false;
  }
  if (ready.new_work || !ready.has_work) work_ = {ready.new_work ? take() : UniqueFd()};
  if (ready.new_egress) egress_ = take();
  return cgroup() ? cgroup()->ResetCounters() : Status();
}

Status Slot::PutFiles(const std::vector<InputFile>& files) {
  // The files of a session get the size of a new session, not the size that the last run had.
  RunLimits first;
  first.disk = first_disk_;
  first.inodes = first_inodes_;
  POLYBOX_RETURN_IF_ERROR(Resize(first));
  const UniqueFd content(::memfd_create("polybox-files", MFD_CLOEXEC));
  if (!content.valid()) return Error::FromErrno("make a memfd for the files");
  std::vector<init::FileHeader> headers;
  for (const InputFile& file : files) {
    headers.push_back({file.name, file.mode, file.content.size()});
    POLYBOX_RETURN_IF_ERROR(WriteAll(content.get(), file.content).In("pack " + file.name));
  }
  if (::lseek(content.get(), 0, SEEK_SET) != 0) return Error::FromErrno("rewind the files");
  return SendFiles(headers, content.get());
}

Status Slot::PutPacked(const std::vector<init::FileHeader>& files, int content) {
  POLYBOX_RETURN_IF_ERROR(MakeRoomFor(files));
  return SendFiles(files, content);
}

Status Slot::SendFiles(const std::vector<init::FileHeader>& files, int content) const {
  if (!init::Send(built_.socket(), init::Encode(init::Files{places().work, files}), {content})) {
    return Error::FromErrno("send the files");
  }
  return built_.AwaitDone("write the files");
}

Status Slot::MakeRoomFor(const std::vector<init::FileHeader>& files) {
  // A page for each name, and parent directories: twice as much is always enough.
  RunLimits needed;
  std::uint64_t bytes = 0;
  for (const init::FileHeader& file : files) bytes += file.size + 4096;
  needed.disk = std::max(disk_, Bytes(2 * bytes));
  needed.inodes = std::max(inodes_, static_cast<std::int64_t>(16 + 2 * files.size()));
  return Resize(needed);
}

Status Slot::Reap() {
  init::Received used;
  if (!init::Send(built_.socket(), init::Encode(init::MessageKind::kReap)) ||
      !init::ReceiveShort(built_.socket(), used)) {
    return Error(ErrorKind::kSystem, "reap a cell: the slot init is gone");
  }
  return {};
}

Result<UniqueFd> Slot::OpenDirectory(const std::string& name) {
  init::Received received;
  if (!init::Send(built_.socket(),
                  init::Encode(init::OpenDirectory{name, !live_->socket.valid()})) ||
      !init::ReceiveShort(built_.socket(), received)) {
    return Error(ErrorKind::kSystem, "open a directory: the slot init is gone");
  }
  if (init::KindOf(received.bytes) != init::MessageKind::kDone || received.fds.size() != 1) {
    return built_.ToError("open a directory", received);
  }
  return received.fds.Take(0);
}

bool Slot::IsEmpty(const std::string& name) const {
  if (!work_.self.valid()) return false;
  const Result<UniqueFd> directory =
      sys::OpenBeneath(work_.self.get(), name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  return directory.ok() && sys::IsEmptyDirectory(directory->get());
}

Bytes Slot::WaitingMemory() const {
  std::uint64_t bytes = 0;
  // A guest that is no started interpreter shares the slot init's memory.
  const pid_t guest = live_->warm ? live_->guest : -1;
  for (const pid_t pid : {built_.pid(), guest, live_->zygote}) bytes += PrivateBytes(pid);
  return Bytes(bytes);
}

Status Slot::NextStep(Start start) {
  // The cgroup must be empty before it is renewed, so the cell is reaped first.
  if (cgroup() && cgroup()->Renews()) POLYBOX_RETURN_IF_ERROR(Reap());
  if (cgroup()) POLYBOX_RETURN_IF_ERROR(cgroup()->NextStep());
  POLYBOX_RETURN_IF_ERROR(AskForCell(start));
  return AwaitCell();
}

Status Slot::Resize(const RunLimits& limits) {
  if (limits.disk == disk_ && limits.inodes == inodes_) return {};
  if (!init::Send(built_.socket(), init::Encode(ScratchSize(limits)))) {
    return Error::FromErrno("send a size");
  }
  POLYBOX_RETURN_IF_ERROR(built_.AwaitDone("size the scratch space"));
  disk_ = limits.disk;
  inodes_ = limits.inodes;
  return {};
}

Status Slot::SetLimits(const RunLimits& limits) {
  if (!cgroup()) return {};
  limits_ = GroupLimits(limits);
  return cgroup()->SetLimits(*limits_);
}

Result<Outcome> Slot::Run(const RunRequest& request) {
  if (!live_->socket.valid()) {
    POLYBOX_RETURN_IF_ERROR(NextStep(request.warm ? Start::kIfReady : Start::kCold));
  }
  if (cgroup() && request.limits.memory < LeastMemory(request)) return EndForWantOfMemory();
  POLYBOX_RETURN_IF_ERROR(Resize(request.limits));
  const Status limited = SetLimits(request.limits);
  if (!limited.ok() && limited.error().system_errno() == EBUSY) return EndForWantOfMemory();
  POLYBOX_RETURN_IF_ERROR(limited);
  if (request.one_cpu) POLYBOX_RETURN_IF_ERROR(KeepOnOneCpu(live_->guest));
  const auto set_running = [&](bool running) {
    const std::lock_guard lock(live_->mutex);
    live_->running = running;
  };
  set_running(true);
  Result<std::optional<Outcome>> tried = RunInCell(request);
  if (tried.ok() && !tried->has_value()) {
    // The interpreter took no program: nothing of the program has run, so it can start cold.
    POLYBOX_RETURN_IF_ERROR(NextStep(Start::kCold));
    POLYBOX_RETURN_IF_ERROR(SetLimits(request.limits));
    if (request.one_cpu) POLYBOX_RETURN_IF_ERROR(KeepOnOneCpu(live_->guest));
    if (WasCancelled()) {
      POLYBOX_ASSIGN_OR_RETURN(Outcome cancelled, StopBeforeRun(End::kCancelled));
      tried = std::optional(std::move(cancelled));
    } else {
      tried = RunInCell(request);
    }
  }
  set_running(false);
  live_->socket.reset();
  if (!tried.ok()) return tried.error();
  Result<Outcome> outcome = tried->has_value()
                                ? Result<Outcome>(std::move(**tried))
                                : Error(ErrorKind::kSystem, "the guest ended before it began");
  // Without a PID namespace the rest of the process tree is ended before the end is reported.
  if (home() && outcome.ok()) POLYBOX_RETURN_IF_ERROR(Reap());
  return outcome;
}

bool Slot::AwaitInterpreter() {
  if (!live_->starting) return true;
  live_->starting = false;
  constexpr int kMostMilliseconds = 20'000;
  pollfd polled = {live_->socket.get(), POLLIN, 0};
  init::Received word;
  return ::poll(&polled, 1, kMostMilliseconds) > 0 &&
         init::ReceiveShort(live_->socket.get(), word) &&
         init::KindOf(word.bytes) == init::MessageKind::kDone &&
         (!cgroup() || cgroup()->ResetCounters().ok());
}

Result<std::optional<Outcome>> Slot::RunInCell(const RunRequest& request) {
  if (!AwaitInterpreter()) return std::optional<Outcome>();
  HeldResources resources = HoldResources(request.limits, built_.CountedBy());
  const init::Run run = {.argv = request.argv,
                         .env = request.env,
                         .directory = request.directory,
                         .limits = std::move(resources.limits),
                         .warm = request.warm && live_->warm,
                         .filter = live_->warm ? built_.filter() : ""};
  const std::string message = init::Encode(run);
  POLYBOX_RETURN_IF_ERROR(CheckSize(message));
  WatchedTree tree({.cgroup = cgroup(),
                    .limits = request.limits,
                    .program = request.argv[0],
                    .lowered = std::move(resources.lowered),
                    .home = home()});
  tree.Start(Roots());
  // If the message cannot be sent, the cell has ended, and AwaitWord() sees the closed socket.
  if (!init::Send(live_->socket.get(), message,
                  {request.stdin_fd, request.stdout_fd, request.stderr_fd}) &&
      errno != EPIPE && errno != ECONNRESET) {
    return Error::FromErrno("send the run");
  }
  const bool spoke = AwaitWord(tree, request.attendant);
  const auto now = WatchedTree::Clock::now();
  if (spoke) return TakeWord(request, tree, now);
  POLYBOX_ASSIGN_OR_RETURN(Outcome outcome, Stop(tree, now));
  return std::optional(std::move(outcome));
}

bool Slot::AwaitWord(WatchedTree& tree, Attendant* attendant) const {
  std::vector<pollfd> polled;
  while (true) {
    const auto wait = std::max(tree.next() - WatchedTree::Clock::now(), Duration::zero());
    if (AwaitMessage(live_->socket.get(), wait, attendant, polled)) return true;
    if (tree.Check(WatchedTree::Clock::now())) return false;
  }
}

TreeRoots Slot::Roots() const {
  // Without a PID namespace an orphan can become a child of the slot init.
  if (home()) return {.root = built_.pid(), .own = {built_.pid(), live_->init}};
  return {.root = live_->init, .own = {live_->init}, .scratch = work_.parent.get()};
}

Result<std::optional<Outcome>> Slot::TakeWord(const RunRequest& request, WatchedTree& tree,
                                              WatchedTree::Clock::time_point now) {
  const auto stop = [&](End reason) -> Result<std::optional<Outcome>> {
    tree.EndFor(reason);
    POLYBOX_ASSIGN_OR_RETURN(Outcome outcome, Stop(tree, now));
    return std::optional(std::move(outcome));
  };
  init::Received received;
  if (!init::ReceiveShort(live_->socket.get(), received)) {
    // The cell's init ended without a report: the server killed it, or something outside did.
    return stop(WasCancelled() ? End::kCancelled : End::kSignalled);
  }
  init::Ended ended;
  if (init::Decode(received.bytes, ended)) {
    // The kernel names the sender of a message: only the cell's init may report an end.
    if (received.sender != live_->init) return stop(End::kSignalled);
    if (!ended.started) return std::optional<Outcome>();
    Outcome outcome = tree.Ended(ended, now);
    outcome.warm = request.warm && live_->warm;
    // The kernel may not have counted all processes yet that it killed.
    if (outcome.oom_kills > 0) {
      POLYBOX_RETURN_IF_ERROR(Reap());
      tree.AddUsage(outcome);
    }
    return std::optional(std::move(outcome));
  }
  init::Failed failed;
  if (!init::Decode(received.bytes, failed)) {
    return Error(ErrorKind::kSystem, "the cell does not make sense");
  }
  return std::optional(tree.NotStarted(failed));
}

bool Slot::WasCancelled() const {
  const std::lock_guard lock(live_->mutex);
  return live_->cancelled;
}

Result<Outcome> Slot::Stop(WatchedTree& tree, WatchedTree::Clock::time_point now) {
  const bool has_pid_namespace = !home();
  if (!cgroup() && has_pid_namespace) KillAllButInit(live_->pidfd.get());
  ::syscall(SYS_pidfd_send_signal, live_->pidfd.get(), SIGKILL, nullptr, 0);
  if (cgroup()) cgroup()->LiftCpuLimit();
  init::Received received;
  init::Ended used;
  if (!init::Send(built_.socket(), init::Encode(init::MessageKind::kReap)) ||
      !init::ReceiveShort(built_.socket(), received) || !init::Decode(received.bytes, used)) {
    return Error(ErrorKind::kSystem, "reap a cell: the slot init is gone");
  }
  // The status is that of the cell's init, which may have ended by itself meanwhile. Only a signal
  // that the server did not send says how the guest ended.
  if (tree.ending() != End::kSignalled || !WIFSIGNALED(used.status)) used.status = SIGKILL;
  return tree.Ended(used, now);
}

Result<Outcome> Slot::StopBeforeRun(End reason) {
  WatchedTree tree({.cgroup = cgroup(), .limits = {}, .program = ""});
  tree.EndFor(reason);
  return Stop(tree, WatchedTree::Clock::now());
}

Result<Outcome> Slot::EndForWantOfMemory() {
  POLYBOX_ASSIGN_OR_RETURN(Outcome outcome, StopBeforeRun(End::kOutOfMemory));
  outcome.signal = SIGKILL;
  live_->socket.reset();
  return outcome;
}

Status Slot::LimitWhoWaits() {
  if (!MustLimitWhoWaits()) return {};
  limits_ = waiting_limits_;
  return cgroup()->SetLimits(*limits_);
}

Status Slot::Reset() {
  // Closes the socket of a cell that was not used. Sockets that are left are the last session's.
  live_->socket.reset();
  if (!init::Send(built_.socket(), init::Encode(init::MessageKind::kWipe))) {
    return Error::FromErrno("ask for a wipe");
  }
  // Both requests at once, unless something must happen in between: this saves a round trip.
  const bool in_between = cgroup() && (cgroup()->Renews() || MustLimitWhoWaits());
  if (!in_between) POLYBOX_RETURN_IF_ERROR(AskForCell(Start::kWarm));
  POLYBOX_RETURN_IF_ERROR(built_.AwaitDone("wipe"));
  if (in_between) {
    POLYBOX_RETURN_IF_ERROR(cgroup()->DropLeftovers());
    POLYBOX_RETURN_IF_ERROR(LimitWhoWaits());
    POLYBOX_RETURN_IF_ERROR(AskForCell(Start::kWarm));
    return AwaitCell();
  }
  // The next guest may be joining the cgroup. Once it is there, this takes three times as long.
  if (cgroup()) POLYBOX_RETURN_IF_ERROR(cgroup()->DropLeftovers(sys::Inside::kNextGuest));
  return AwaitCell();
}

bool Slot::Alive() {
  // Between sessions a socket has nothing to read but its end, or a report of readiness.
  std::array<pollfd, 2> polled = {{{built_.socket(), POLLIN, 0}, {live_->socket.get(), POLLIN, 0}}};
  if (::poll(polled.data(), polled.size(), 0) == 0) return true;
  return polled[0].revents == 0 && live_->starting && AwaitInterpreter();
}

void Slot::Signal(int number) const {
  const std::lock_guard lock(live_->mutex);
  if (!live_->running) return;
  if (number == SIGKILL) live_->cancelled = true;
  ::syscall(SYS_pidfd_send_signal, live_->pidfd.get(), number, nullptr, 0);
}

}  // namespace polybox::jail
