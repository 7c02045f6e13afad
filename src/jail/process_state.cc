#include "jail/process_state.h"

#include <algorithm>
#include <csignal>
#include <unistd.h>
#include <utility>

#include <sys/eventfd.h>

#include "jail/init/protocol.h"

namespace polybox::jail {
namespace {

/// The longest wait that can be added to the time of a clock.
constexpr Duration kForever = std::chrono::hours(24 * 365 * 10);

// The pauses between two rounds that kill a process tree. Mostly the first or the second round ends
// the tree. A fork that is under way escapes a round.
constexpr Watch::Clock::duration kFirstPause = std::chrono::milliseconds(1);
constexpr Watch::Clock::duration kLongestPause = std::chrono::milliseconds(50);
/// A process that does not end in this time waits in the kernel, for a disk for example.
constexpr Watch::Clock::duration kMostForEnd = std::chrono::seconds(10);

}  // namespace

Waker::Waker() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

void Waker::Wake() const {
  const std::uint64_t one = 1;
  (void)!::write(event_.get(), &one, sizeof one);
}

void Waker::Settle() const {
  std::uint64_t count = 0;
  (void)!::read(event_.get(), &count, sizeof count);
}

ProcessState::ProcessState(Parts parts, TreeFacts facts)
    : parts_(std::move(parts)), tree_(WithCgroup(std::move(facts), parts_)) {}

TreeFacts ProcessState::WithCgroup(TreeFacts facts, const Parts& parts) {
  facts.cgroup = parts.cgroup ? &*parts.cgroup : nullptr;
  return facts;
}

void ProcessState::Hear() {
  init::Received received;
  const bool heard = init::ReceiveShort(parts_.socket.get(), received);
  const std::lock_guard lock(mutex_);
  init::Failed failed;
  init::Ended ended;
  init::TreeEnded tree_ended;
  const bool is_known = supervisor_ < 0 || received.sender == supervisor_;
  if (!heard) {
    TakeClose();
  } else if (!is_known) {
    return;
  } else if (init::KindOf(received.bytes) == init::MessageKind::kStarted) {
    TakeStarted(received);
  } else if (init::Decode(received.bytes, failed)) {
    outcome_ = tree_.NotStarted(failed);
  } else if (init::Decode(received.bytes, ended)) {
    TakeEnded(ended);
  } else if (init::Decode(received.bytes, tree_ended)) {
    TakeTreeEnded(tree_ended);
  }
  changed_.notify_all();
}

void ProcessState::TakeStarted(init::Received& received) {
  supervisor_ = received.sender;
  started_ = true;
  if (!received.fds.empty()) terminal_ = received.fds.Take(0);
  // The scratch directories belong to all processes of the lease; their size is their own limit.
  tree_.Start({.root = supervisor_, .own = {supervisor_}, .scratch = -1});
}

void ProcessState::TakeEnded(const init::Ended& ended) {
  outcome_ = tree_.Ended(ended, Clock::now());
}

void ProcessState::TakeTreeEnded(const init::TreeEnded& ended) {
  if (!outcome_) {
    const init::Ended killed = {.status = SIGKILL,
                                .user_nanoseconds = ended.user_nanoseconds,
                                .system_nanoseconds = ended.system_nanoseconds,
                                .largest_resident_bytes = ended.largest_resident_bytes};
    TakeEnded(killed);
  }
  usage_ = {.cpu_time = Duration(ended.user_nanoseconds + ended.system_nanoseconds),
            .memory_peak = Bytes(ended.largest_resident_bytes)};
  if (parts_.cgroup) usage_ = ReadUsage();
  SetGone();
}

void ProcessState::TakeClose() {
  parts_.socket.reset();
  if (gone_) return;
  if (!outcome_) TakeEnded({.status = SIGKILL});
  usage_ = ReadUsage();
  if (parts_.cgroup) {
    // The supervisor was killed, by the kernel for want of memory or by an operator. The cgroup
    // still has the tree.
    BeginEnd(jail::End::kSignalled, Clock::now());
  } else {
    lost_ = outcome_->end != jail::End::kSetupFailed;
    SetGone();
  }
}

void ProcessState::SetGone() {
  gone_ = true;
  parts_.socket.reset();
  tree_.Forget();
  next_kill_ = Clock::time_point::max();
}

ProcessState::Clock::time_point ProcessState::Due() const {
  const std::lock_guard lock(mutex_);
  if (gone_) return Clock::time_point::max();
  return tree_.ending() ? next_kill_ : tree_.next();
}

void ProcessState::Check(Clock::time_point now) {
  const std::lock_guard lock(mutex_);
  if (gone_) return;
  if (tree_.Check(now)) BeginKilling(now);
  if (tree_.ending() && now >= next_kill_) KillRound(now);
  if (gone_) changed_.notify_all();
}

void ProcessState::BeginEnd(jail::End reason, Clock::time_point now) {
  if (tree_.ending()) return;
  tree_.EndFor(reason);
  BeginKilling(now);
}

void ProcessState::BeginKilling(Clock::time_point now) {
  next_kill_ = now;
  last_kill_ = now + kMostForEnd;
  pause_ = kFirstPause;
  // The supervisor kills the tree where there is no cgroup.
  if (parts_.socket.valid()) {
    init::Send(parts_.socket.get(), init::Encode(init::MessageKind::kEndTree));
  }
  if (parts_.cgroup) parts_.cgroup->LiftCpuLimit();
}

void ProcessState::KillRound(Clock::time_point now) {
  next_kill_ = Clock::time_point::max();
  if (!parts_.cgroup) return;
  const Result<bool> empty = parts_.cgroup->KillRound();
  // With a supervisor, its report says that all processes have been reaped too.
  if (empty.ok() && *empty && !parts_.socket.valid()) return SetGone();
  if (now < last_kill_) next_kill_ = now + pause_;
  pause_ = std::min(2 * pause_, kLongestPause);
}

void ProcessState::LoseLease() {
  const std::lock_guard lock(mutex_);
  if (!gone_) {
    tree_.EndFor(jail::End::kCancelled);
    usage_ = ReadUsage();
    if (!outcome_) TakeEnded({.status = SIGKILL});
    SetGone();
  }
  parts_.cgroup.reset();
  changed_.notify_all();
}

bool ProcessState::WaitForStart(Duration most) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, most, [&] { return started_ || outcome_; });
}

UniqueFd ProcessState::TakeTerminal() {
  const std::lock_guard lock(mutex_);
  return std::move(terminal_);
}

Status ProcessState::Signal(int number) const {
  const std::lock_guard lock(mutex_);
  if (outcome_ || !parts_.socket.valid()) {
    return Error(ErrorKind::kNotFound, "signal a process: it has ended");
  }
  if (init::Send(parts_.socket.get(), init::Encode(init::SendSignal{number}))) return {};
  return Error::FromErrno("signal a process");
}

std::optional<Outcome> ProcessState::Wait(Duration most) const {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::min(most, kForever), [&] { return outcome_.has_value(); });
  return outcome_;
}

bool ProcessState::WaitForTree(Duration most) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::min(most, kForever), [&] { return gone_; });
}

ProcessUsage ProcessState::ReadUsage() const {
  ProcessUsage usage;
  if (parts_.cgroup) {
    usage.cpu_time = parts_.cgroup->CpuTime();
    const Result<sys::CgroupUsage> all = parts_.cgroup->ReadUsage();
    if (all.ok()) usage.memory_peak = all->memory_peak;
  } else {
    const TreeUse use = tree_.LookAtUse();
    usage = {.cpu_time = use.cpu_time, .memory_peak = use.memory};
  }
  return usage;
}

ProcessUsage ProcessState::Usage() const {
  const std::lock_guard lock(mutex_);
  return gone_ ? usage_ : ReadUsage();
}

Status ProcessState::End() {
  {
    const std::lock_guard lock(mutex_);
    if (!gone_) BeginEnd(jail::End::kCancelled, Clock::now());
  }
  parts_.waker->Wake();
  if (!WaitForTree(kMostForEnd + std::chrono::seconds(1))) {
    return Error(ErrorKind::kSystem, "end a process: some of its tree does not end");
  }
  const std::lock_guard lock(mutex_);
  if (!lost_) return {};
  return Error(ErrorKind::kSystem,
               "end a process: its supervisor was killed; what it left ends with the lease");
}

}  // namespace polybox::jail
