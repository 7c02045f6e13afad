#include "jail/slot.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <fcntl.h>
#include <mutex>
#include <poll.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/files.h"
#include "jail/bare_plan.h"
#include "jail/guest_process.h"
#include "jail/id_map.h"
#include "jail/init/messages.h"
#include "jail/init/protocol.h"
#include "jail/plan.h"
#include "jail/prepare.h"
#include "jail/resource_limits.h"
#include "jail/start_init.h"
#include "jail/trees.h"
#include "jail/watch.h"
#include "sys/guest_tree.h"

namespace polybox::jail {
namespace {

std::string Sentence(const init::Failed& failed, const std::string& step) {
  const std::string what = step.empty()
                               ? init::StageName(failed.stage)
                               : fmt::format("{} ({})", init::StageName(failed.stage), step);
  return fmt::format("{}: {}", what, std::generic_category().message(failed.error));
}

Outcome FromEnded(const init::Ended& ended) {
  Outcome outcome;
  outcome.end = WIFSIGNALED(ended.status) ? End::kSignalled : End::kExited;
  outcome.exit_code = WIFSIGNALED(ended.status) ? 0 : WEXITSTATUS(ended.status);
  outcome.signal = WIFSIGNALED(ended.status) ? WTERMSIG(ended.status) : 0;
  outcome.cpu_user = Duration(ended.user_nanoseconds);
  outcome.cpu_system = Duration(ended.system_nanoseconds);
  outcome.memory_peak = Bytes(ended.largest_resident_bytes);
  return outcome;
}

}  // namespace

/// The pod, which a signal may reach from any thread while its guest runs.
struct Slot::Live {
  std::mutex mutex;
  UniqueFd socket;
  UniqueFd pidfd;
  pid_t init = -1;
  pid_t guest = -1;
  /// It has started already.
  bool warm = false;
  pid_t zygote = -1;
  /// It may still be at it, and will say when it is not.
  bool starting = false;
  /// Between the two ends of Run().
  bool running = false;
  bool cancelled = false;
};

Slot::Slot(pid_t pid, UniqueFd socket, std::optional<sys::SlotCgroup> cgroup)
    : pid_(pid),
      socket_(std::move(socket)),
      cgroup_(std::move(cgroup)),
      live_(std::make_unique<Live>()) {}

Slot::Slot(Slot&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      socket_(std::move(other.socket_)),
      cgroup_(std::move(other.cgroup_)),
      live_(std::move(other.live_)),
      work_(std::move(other.work_)),
      egress_(std::move(other.egress_)),
      home_(std::move(other.home_)),
      places_(std::move(other.places_)),
      shares_uid_(other.shares_uid_),
      steps_(std::move(other.steps_)),
      shared_(std::move(other.shared_)),
      filter_(std::move(other.filter_)),
      disk_(other.disk_),
      inodes_(other.inodes_),
      limits_(other.limits_),
      waiting_limits_(other.waiting_limits_),
      first_disk_(other.first_disk_),
      first_inodes_(other.first_inodes_) {}

Slot::~Slot() {
  if (pid_ < 0) return;
  socket_.reset();
  if (home_) AwaitEnd();
  const pid_t zygote_pid = live_->zygote;
  const UniqueFd zygote(zygote_pid > 0 ? static_cast<int>(::syscall(SYS_pidfd_open, zygote_pid, 0))
                                       : -1);
  ::kill(pid_, SIGKILL);  // its pod and its zygote go with it
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  // Its init is the last of a pod to go. Cgroups can only be removed when they are empty, and on a
  // busy machine that takes a while.
  constexpr int kMostMilliseconds = 5000;
  for (const int left : {live_->pidfd.get(), zygote.get()}) {
    pollfd polled = {left, POLLIN, 0};
    if (left >= 0) ::poll(&polled, 1, kMostMilliseconds);
  }
}

void Slot::AwaitEnd() const {
  // It gives up after ten seconds itself, and then there is the scratch space.
  constexpr int kMostMilliseconds = 20'000;
  const UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  pollfd polled = {pidfd.get(), POLLIN, 0};
  while (pidfd.valid() && ::poll(&polled, 1, kMostMilliseconds) < 0 && errno == EINTR) {
  }
}

Result<Slot> Slot::Make(const SlotOptions& options) {
  std::optional<sys::SlotCgroup> cgroup;
  if (options.cgroups != nullptr) {
    // A name of its own: the kernel may take a moment to let go of the last slot of this number.
    static std::atomic<unsigned> made = 0;
    POLYBOX_ASSIGN_OR_RETURN(
        cgroup, options.cgroups->MakeSlot(fmt::format("slot-{}-{}", options.number, ++made)));
  }
  POLYBOX_ASSIGN_OR_RETURN(StartedInit started,
                           StartInit(options.spec.grade, cgroup ? &*cgroup : nullptr));
  Slot slot(started.pid, std::move(started.socket), std::move(cgroup));
  POLYBOX_RETURN_IF_ERROR(slot.SetUp(options).In("make a slot"));
  return slot;
}

Status Slot::SetUp(const SlotOptions& options) {
  POLYBOX_RETURN_IF_ERROR(AwaitDone("unshare"));
  init::Setup setup;
  if (HasNamespaces(options.spec.grade)) {
    POLYBOX_RETURN_IF_ERROR(MapIds(pid_, options.spec, options.number));
    setup.has_root = options.spec.privileged;
  } else {
    POLYBOX_RETURN_IF_ERROR(UseScratchHome(options, setup));
  }
  if (cgroup_) {
    const uid_t uid = options.spec.privileged ? SlotUid(options.number) : ::geteuid();
    POLYBOX_RETURN_IF_ERROR(cgroup_->AllowStarter(uid));
  }
  POLYBOX_ASSIGN_OR_RETURN(Prepared prepared, Prepare(options.spec));
  const Plan& plan = prepared.plan;
  shared_ = std::move(prepared.shared);
  std::vector<int> trees;
  for (const UniqueFd& tree : prepared.trees) trees.push_back(tree.get());
  for (const init::Operation& operation : plan.operations) steps_.push_back(Describe(operation));
  setup.operations = plan.operations;
  setup.bare.rules = plan.rules;
  setup.filter_of_slot = options.filter.of_slot.bytes();
  setup.filter_of_guest = filter_ = options.filter.of_guest.bytes();
  setup.fail_at = options.fail_at;
  setup.warm = options.spec.warm.start;
  if (!init::Send(socket_.get(), init::Encode(setup), trees))
    return Error::FromErrno("send the plan");
  POLYBOX_RETURN_IF_ERROR(AwaitBuilt(plan.operations));
  disk_ = first_disk_ = options.spec.scratch;
  inodes_ = first_inodes_ = static_cast<std::int64_t>(options.spec.scratch_inodes);
  const bool waits = options.spec.warm.start.kind != init::WarmKind::kNone;
  if (waits && cgroup_) waiting_limits_ = options.spec.warm.limits;
  POLYBOX_RETURN_IF_ERROR(LimitWhoWaits());
  POLYBOX_RETURN_IF_ERROR(AskForPod(Start::kIfReady));
  return AwaitPod();
}

Status Slot::UseScratchHome(const SlotOptions& options, init::Setup& setup) {
  const Spec& spec = options.spec;
  const bool own_uid = spec.privileged;
  POLYBOX_ASSIGN_OR_RETURN(
      ScratchHome home,
      ScratchHome::Make(options.number, own_uid ? Visitors::kOtherUids : Visitors::kNobody));
  home_.emplace(std::move(home));
  places_ = PlacesIn(spec, home_->path());
  shares_uid_ = !own_uid;
  setup.bare.walls =
      spec.grade == Grade::kLandlock ? init::Walls::kLandlock : init::Walls::kNothing;
  setup.bare.home = home_->path();
  setup.bare.uid = own_uid ? spec.guest_uid.value_or(SlotUid(options.number) + 1) : 0;
  setup.bare.closed_trees = own_uid && HasClosedTrees(spec.trees);
  return {};
}

Status Slot::AwaitBuilt(const std::vector<init::Operation>& operations) {
  init::Received received;
  if (!init::Receive(socket_.get(), received)) {
    return Error(ErrorKind::kSystem, "build: the slot init is gone");
  }
  init::Built built;
  if (!init::Decode(received.bytes, built)) return ToError("build", received);
  for (const init::SharedTree& tree : built.shared) {
    const init::Operation& operation = operations.at(static_cast<std::size_t>(tree.index));
    shared_.push_back(
        fmt::format("/{}: {}", operation.target, std::generic_category().message(tree.error)));
  }
  return {};
}

Status Slot::AwaitDone(const std::string& intent) const {
  init::Received received;
  if (!init::ReceiveShort(socket_.get(), received)) {
    return Error(ErrorKind::kSystem, intent + ": the slot init is gone");
  }
  if (init::KindOf(received.bytes) == init::MessageKind::kDone) return {};
  return ToError(intent, received);
}

Error Slot::ToError(const std::string& intent, const init::Received& received) const {
  init::Failed failed;
  if (!init::Decode(received.bytes, failed)) {
    return Error(ErrorKind::kSystem, intent + ": the slot init does not make sense");
  }
  const auto index = static_cast<std::size_t>(failed.index);
  const bool known = failed.stage == init::Stage::kOperation && index < steps_.size();
  // Files that find no room are too many or too large: their sender's fault.
  const bool no_room = failed.stage == init::Stage::kFiles && failed.error == ENOSPC;
  return Error(no_room ? ErrorKind::kInvalid : ErrorKind::kSystem,
               Sentence(failed, known ? steps_[index] : ""));
}

Status Slot::AskForPod(Start start) {
  init::NextPod next;
  next.warm = start != Start::kCold;
  next.between_sessions = start == Start::kWarm;
  std::vector<int> fds;
  if (cgroup_) {
    POLYBOX_RETURN_IF_ERROR(cgroup_->MakeRoomToWait());
    fds = cgroup_->JoinFds();
    next.join_count = static_cast<std::uint32_t>(fds.size());
    // On v1 there may be a directory as well, of no controller: not worth its price on every run.
    next.clone_into = cgroup_->capabilities().version == sys::CgroupVersion::kV2;
    if (next.clone_into) fds.push_back(cgroup_->CloneFd());
    next.counted = cgroup_->capabilities().counts_cpu;
  }
  if (init::Send(socket_.get(), init::Encode(next), fds)) return {};
  return Error::FromErrno("ask for a pod");
}

Status Slot::AwaitPod() {
  init::Received received;
  if (!init::ReceiveShort(socket_.get(), received)) {
    return Error(ErrorKind::kSystem, "make a pod: the slot init is gone");
  }
  init::PodReady ready;
  if (!init::Decode(received.bytes, ready)) return ToError("make a pod", received);
  const std::size_t expected = 1U + ready.new_init + ready.new_work + ready.new_egress;
  if (received.fds.size() != expected) return ToError("make a pod", received);
  auto next = received.fds.begin();
  const auto take = [&] { return UniqueFd(std::exchange(*next++, -1)); };
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
  if (ready.new_work || !ready.has_work) work_ = ready.new_work ? take() : UniqueFd();
  if (ready.new_egress) egress_ = take();
  return cgroup_ ? cgroup_->ResetCounters() : Status();
}

Status Slot::PutFiles(const std::vector<InputFile>& files) {
  // What the last run was allowed is no business of these.
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
  if (!init::Send(socket_.get(), init::Encode(init::Files{places_.work, files}), {content})) {
    return Error::FromErrno("send the files");
  }
  return AwaitDone("write the files");
}

Status Slot::MakeRoomFor(const std::vector<init::FileHeader>& files) {
  // A page for a name, and directories on the way: twice as much is always enough.
  RunLimits needed;
  std::uint64_t bytes = 0;
  for (const init::FileHeader& file : files) bytes += file.size + 4096;
  needed.disk = std::max(disk_, Bytes(2 * bytes));
  needed.inodes = std::max(inodes_, static_cast<std::int64_t>(16 + 2 * files.size()));
  return Resize(needed);
}

Status Slot::Reap() {
  init::Received used;
  if (!init::Send(socket_.get(), init::Encode(init::MessageKind::kReap)) ||
      !init::ReceiveShort(socket_.get(), used)) {
    return Error(ErrorKind::kSystem, "reap a pod: the slot init is gone");
  }
  return {};
}

Result<UniqueFd> Slot::OpenDirectory(const std::string& name) {
  init::Received received;
  if (!init::Send(socket_.get(), init::Encode(init::OpenDirectory{name, !live_->socket.valid()})) ||
      !init::ReceiveShort(socket_.get(), received)) {
    return Error(ErrorKind::kSystem, "open a directory: the slot init is gone");
  }
  if (init::KindOf(received.bytes) != init::MessageKind::kDone || received.fds.size() != 1) {
    return ToError("open a directory", received);
  }
  UniqueFd directory(received.fds[0]);
  received.fds.clear();
  return directory;
}

bool Slot::IsEmpty(const std::string& name) const {
  if (!work_.valid()) return false;
  const Result<UniqueFd> directory =
      sys::OpenBeneath(work_.get(), name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  return directory.ok() && sys::IsEmptyDirectory(directory->get());
}

Bytes Slot::WaitingMemory() const {
  std::uint64_t bytes = 0;
  // One that has not started shares the init's memory.
  const pid_t guest = live_->warm ? live_->guest : -1;
  for (const pid_t pid : {pid_, guest, live_->zygote}) bytes += PrivateBytes(pid);
  return Bytes(bytes);
}

Status Slot::NextStep(Start start) {
  // The cgroup must be empty for it: the pod is reaped first.
  if (cgroup_ && cgroup_->Renews()) POLYBOX_RETURN_IF_ERROR(Reap());
  if (cgroup_) POLYBOX_RETURN_IF_ERROR(cgroup_->NextStep());
  POLYBOX_RETURN_IF_ERROR(AskForPod(start));
  return AwaitPod();
}

Status Slot::Resize(const RunLimits& limits) {
  if (limits.disk == disk_ && limits.inodes == inodes_) return {};
  const init::Resize size = {limits.disk.count(), static_cast<std::uint64_t>(limits.inodes)};
  if (!init::Send(socket_.get(), init::Encode(size))) return Error::FromErrno("send a size");
  POLYBOX_RETURN_IF_ERROR(AwaitDone("size the scratch space"));
  disk_ = limits.disk;
  inodes_ = limits.inodes;
  return {};
}

Status Slot::SetLimits(const RunLimits& limits) {
  if (!cgroup_) return {};
  limits_ = GroupLimits(limits);
  return cgroup_->SetLimits(*limits_);
}

Result<Outcome> Slot::Run(const RunRequest& request) {
  if (!live_->socket.valid()) {
    POLYBOX_RETURN_IF_ERROR(NextStep(request.warm ? Start::kIfReady : Start::kCold));
  }
  if (cgroup_ && request.limits.memory < LeastMemory(request)) return EndForWantOfMemory();
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
  Result<std::optional<Outcome>> tried = RunInPod(request);
  if (tried.ok() && !tried->has_value()) {
    // Nothing of the program has run yet.
    POLYBOX_RETURN_IF_ERROR(NextStep(Start::kCold));
    POLYBOX_RETURN_IF_ERROR(SetLimits(request.limits));
    if (request.one_cpu) POLYBOX_RETURN_IF_ERROR(KeepOnOneCpu(live_->guest));
    if (WasCancelled()) {
      POLYBOX_ASSIGN_OR_RETURN(Outcome cancelled, Stop(End::kCancelled));
      tried = std::optional(std::move(cancelled));
    } else {
      tried = RunInPod(request);
    }
  }
  set_running(false);
  live_->socket.reset();
  if (!tried.ok()) return tried.error();
  Result<Outcome> outcome = tried->has_value()
                                ? Result<Outcome>(std::move(**tried))
                                : Error(ErrorKind::kSystem, "the guest ended before it began");
  // Where no kernel does it, the rest of its tree is ended before anyone learns of the end.
  if (home_ && outcome.ok()) POLYBOX_RETURN_IF_ERROR(Reap());
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
         (!cgroup_ || cgroup_->ResetCounters().ok());
}

Result<std::optional<Outcome>> Slot::RunInPod(const RunRequest& request) {
  if (!AwaitInterpreter()) return std::optional<Outcome>();
  const RunLimits counted = shares_uid_ ? WithOwnTasks(request.limits) : request.limits;
  const init::Run run = {.argv = request.argv,
                         .env = request.env,
                         .directory = request.directory,
                         .limits = ResourceLimits(counted, cgroup_.has_value()),
                         .warm = request.warm && live_->warm,
                         .filter = live_->warm ? filter_ : ""};
  const WatchLimits limits = {.wall_time = request.limits.wall_time,
                              .cpu_time = request.limits.cpu_time,
                              .cpu_per_second = request.limits.cpu_per_second};
  const std::string message = init::Encode(run);
  if (message.size() > init::kLargestMessage) {
    return Error(ErrorKind::kInvalid,
                 fmt::format("arguments and environment are too large: {} bytes", message.size()));
  }
  const auto begin = std::chrono::steady_clock::now();
  // When it cannot be sent, the pod is gone, which the watch will see.
  if (!init::Send(live_->socket.get(), message,
                  {request.stdin_fd, request.stdout_fd, request.stderr_fd}) &&
      errno != EPIPE && errno != ECONNRESET) {
    return Error::FromErrno("send the run");
  }
  const Watched watched =
      WatchPod(live_->socket.get(), limits, cgroup_ ? &*cgroup_ : nullptr, request.attendant);
  const auto wall = std::chrono::steady_clock::now() - begin;
  const auto stop = [&](End end) -> Result<std::optional<Outcome>> {
    POLYBOX_ASSIGN_OR_RETURN(Outcome outcome, Stop(end));
    return std::optional(std::move(outcome));
  };
  Result<std::optional<Outcome>> outcome =
      watched == Watched::kWord
          ? TakeWord(request)
          : stop(watched == Watched::kWallTime ? End::kTimedOut : End::kCpuLimit);
  if (outcome.ok() && outcome->has_value()) (*outcome)->wall = wall;
  return outcome;
}

Result<std::optional<Outcome>> Slot::TakeWord(const RunRequest& request) {
  init::Received received;
  if (!init::ReceiveShort(live_->socket.get(), received)) {
    // Its init is gone without a word: we killed it, or something outside did.
    POLYBOX_ASSIGN_OR_RETURN(Outcome outcome,
                             Stop(WasCancelled() ? End::kCancelled : End::kSignalled));
    return std::optional(std::move(outcome));
  }
  init::Ended ended;
  if (init::Decode(received.bytes, ended)) {
    // The kernel says who speaks: only the pod's init can tell of an end.
    if (received.sender != live_->init) {
      POLYBOX_ASSIGN_OR_RETURN(Outcome outcome, Stop(End::kSignalled));
      return std::optional(std::move(outcome));
    }
    if (!ended.started) return std::optional<Outcome>();
    Outcome outcome = FromEnded(ended);
    outcome.warm = request.warm && live_->warm;
    FillUsage(outcome);
    // The kernel may not have counted all yet whom it killed.
    if (outcome.oom_kills > 0) {
      POLYBOX_RETURN_IF_ERROR(Reap());
      FillUsage(outcome);
    }
    return std::optional(std::move(outcome));
  }
  init::Failed failed;
  if (!init::Decode(received.bytes, failed)) {
    return Error(ErrorKind::kSystem, "the pod does not make sense");
  }
  Outcome outcome;
  outcome.end = End::kSetupFailed;
  const std::string step = failed.stage == init::Stage::kExec ? request.argv[0] : "";
  outcome.setup_failure = Sentence(failed, step);
  return std::optional(std::move(outcome));
}

bool Slot::WasCancelled() const {
  const std::lock_guard lock(live_->mutex);
  return live_->cancelled;
}

Result<Outcome> Slot::Stop(End end) {
  const bool has_pid_namespace = !home_;
  if (!cgroup_ && has_pid_namespace) KillAllButInit(live_->pidfd.get());
  ::syscall(SYS_pidfd_send_signal, live_->pidfd.get(), SIGKILL, nullptr, 0);
  if (cgroup_) cgroup_->LiftCpuLimit();
  init::Received received;
  init::Ended used;
  if (!init::Send(socket_.get(), init::Encode(init::MessageKind::kReap)) ||
      !init::ReceiveShort(socket_.get(), received) || !init::Decode(received.bytes, used)) {
    return Error(ErrorKind::kSystem, "reap a pod: the slot init is gone");
  }
  Outcome outcome = FromEnded(used);
  outcome.end = end;
  // The kill was ours.
  if (end != End::kSignalled) outcome.signal = 0;
  FillUsage(outcome);
  return outcome;
}

Result<Outcome> Slot::EndForWantOfMemory() {
  POLYBOX_ASSIGN_OR_RETURN(Outcome outcome, Stop(End::kOutOfMemory));
  outcome.signal = SIGKILL;
  live_->socket.reset();
  return outcome;
}

void Slot::FillUsage(Outcome& outcome) const {
  if (!cgroup_) return;
  const Result<sys::CgroupUsage> usage = cgroup_->ReadUsage();
  if (!usage.ok()) return;
  if (usage->cpu_user) outcome.cpu_user = usage->cpu_user;
  if (usage->cpu_system) outcome.cpu_system = usage->cpu_system;
  outcome.memory_peak = usage->memory_peak;
  outcome.processes_peak = usage->processes_peak;
  outcome.oom_kills = usage->oom_kills.value_or(0);
  const bool killed = outcome.end == End::kSignalled && outcome.signal == SIGKILL;
  if (killed && outcome.oom_kills > 0) outcome.end = End::kOutOfMemory;
}

Status Slot::LimitWhoWaits() {
  if (!MustLimitWhoWaits()) return {};
  limits_ = waiting_limits_;
  return cgroup_->SetLimits(*limits_);
}

Status Slot::Reset() {
  // Of a pod that was not used. Sockets that are left then are the last session's.
  live_->socket.reset();
  if (!init::Send(socket_.get(), init::Encode(init::MessageKind::kWipe))) {
    return Error::FromErrno("ask for a wipe");
  }
  // Both at once where nothing must happen in between: the slot init need not wait for us.
  const bool in_between = cgroup_ && (cgroup_->Renews() || MustLimitWhoWaits());
  if (!in_between) POLYBOX_RETURN_IF_ERROR(AskForPod(Start::kWarm));
  POLYBOX_RETURN_IF_ERROR(AwaitDone("wipe"));
  if (in_between) {
    POLYBOX_RETURN_IF_ERROR(cgroup_->DropLeftovers());
    POLYBOX_RETURN_IF_ERROR(LimitWhoWaits());
    POLYBOX_RETURN_IF_ERROR(AskForPod(Start::kWarm));
    return AwaitPod();
  }
  // The next guest may be on its way into it. When it is there, this takes three times as long.
  if (cgroup_) POLYBOX_RETURN_IF_ERROR(cgroup_->DropLeftovers(sys::Inside::kNextGuest));
  return AwaitPod();
}

bool Slot::Alive() {
  // Neither has anything to say now but its end, or that it has started.
  std::array<pollfd, 2> polled = {{{socket_.get(), POLLIN, 0}, {live_->socket.get(), POLLIN, 0}}};
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
