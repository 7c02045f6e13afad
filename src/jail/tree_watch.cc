#include "jail/tree_watch.h"

#include <algorithm>
#include <csignal>
#include <ctime>
#include <fcntl.h>
#include <utility>

#include <sys/statvfs.h>

namespace polybox::jail {
namespace {

constexpr std::chrono::nanoseconds kShortestPause = std::chrono::milliseconds(20);
/// For so long a guest can go over its limits.
constexpr std::chrono::nanoseconds kLongestPause = std::chrono::milliseconds(200);
/// Looking takes at most one part in so many of a processor's time. With what else a guest can make
/// polybox do, it must stay below the 5 % that SECURITY.md promises.
constexpr int kParts = 100;
/// The same for what counts as the run's own processor time.
constexpr int kCountedParts = 5;

std::chrono::nanoseconds PauseFor(std::chrono::nanoseconds wanted) {
  return std::clamp(wanted, kShortestPause, kLongestPause);
}

/// The memory file systems that a guest can write to, as in plan.cc.
constexpr const char* kScratch[] = {"sandbox", "tmp", "dev/shm"};

/// Returns the processor time of the calling thread.
std::chrono::nanoseconds ThreadTime() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

}  // namespace

TreeWatch::TreeWatch(TreeRoots roots, const TreeLimits& limits, sys::ProcessTree tree)
    : roots_(std::move(roots)), limits_(limits), tree_(std::move(tree)) {
  const auto begin = ThreadTime();
  // Opened before the guest runs: it can make every way to them by /proc fail.
  for (const char* directory : kScratch) {
    if (roots_.scratch < 0) break;
    scratch_.emplace_back(
        ::openat(roots_.scratch, directory, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  }
  Count();
  before_ = std::exchange(use_.cpu_time, Duration::zero());
  pause_ = PauseFor(kParts * (ThreadTime() - begin));
}

bool TreeWatch::IsOwn(pid_t pid) const {
  return std::ranges::find(roots_.own, pid) != roots_.own.end();
}

/// Reads all processes of the tree, and sets `use_` and `seen_`.
void TreeWatch::Count() {
  // It is enough to count one more than the run may have, besides the processes of polybox.
  const auto own = static_cast<std::int64_t>(roots_.own.size());
  stats_ = tree_.Read(roots_.root, limits_.tasks + own);
  use_ = {};
  SeenAll now;
  for (const sys::ProcessStat& stat : stats_) Add(stat, now);
  // Whose parent ended meanwhile may have been in no list of children.
  for (const auto& [pid, before] : seen_) {
    if (now.contains(pid)) continue;
    const std::optional<sys::ProcessStat> stat = tree_.Stat(pid);
    if (!stat || stat->start != before.start) continue;
    stats_.push_back(*stat);
    Add(*stat, now);
  }
  FindLost(now);
  seen_ = std::move(now);
  use_.cpu_time += lost_ - before_ + exact_cost_;
}

void TreeWatch::Add(const sys::ProcessStat& stat, SeenAll& now) {
  const bool is_own = IsOwn(stat.pid);
  const Seen seen = {stat.start, is_own ? Duration::zero() : stat.own, stat.reaped};
  now.emplace(stat.pid, seen);
  use_.cpu_time += seen.own + seen.reaped;
  if (is_own) return;
  ++use_.processes;
  use_.tasks += stat.threads;
  use_.memory = Bytes(use_.memory.count() + stat.resident.count());
}

void TreeWatch::FindLost(const SeenAll& now) {
  Duration ended{};
  Duration reaped{};
  for (const auto& [pid, before] : seen_) {
    const auto found = now.find(pid);
    if (found == now.end() || found->second.start != before.start) {
      ended += before.own + before.reaped;
    } else {
      reaped += found->second.reaped - before.reaped;
    }
  }
  // The last look took some processes for lost. A process that was reaped after that look had read
  // its parent is not lost. This look finds its time in the parent's time for reaped children.
  lost_ -= std::min(just_lost_, std::max(reaped - ended, Duration::zero()));
  just_lost_ = std::max(ended - reaped, Duration::zero());
  lost_ += just_lost_;
}

std::uint64_t TreeWatch::ScratchMemory() const {
  std::uint64_t bytes = 0;
  for (const UniqueFd& directory : scratch_) {
    struct statvfs space{};
    if (::fstatvfs(directory.get(), &space) != 0) continue;
    bytes += (space.f_blocks - space.f_bfree) * space.f_frsize;
  }
  return bytes;
}

std::uint64_t TreeWatch::Sum(Bytes (sys::ProcessTree::*measure)(const sys::ProcessStat&)
                                 const) const {
  std::uint64_t sum = 0;
  for (const sys::ProcessStat& stat : stats_) {
    if (!IsOwn(stat.pid)) sum += (tree_.*measure)(stat).count();
  }
  return sum;
}

bool TreeWatch::ExceedsMemory(Clock::time_point now) {
  // Each way to measure is exacter than the one before and costs more.
  const std::uint64_t scratch = ScratchMemory();
  use_.memory = Bytes(use_.memory.count() + scratch);
  const bool fits = use_.memory <= limits_.memory;
  const std::uint64_t all = fits ? 0 : Sum(&sys::ProcessTree::PrivateMemory);
  if (!fits) use_.memory = Bytes(all + scratch);
  if (use_.memory <= limits_.memory) {
    exact_.reset();
    return false;
  }
  if (exact_ && now < exact_->due) {
    // What is new may be shared or not.
    exact_->least_private = std::min(exact_->least_private, all);
    use_.memory = Bytes(exact_->bytes + all - exact_->least_private + scratch);
    if (use_.memory <= limits_.memory) return false;
  }
  const auto begin = ThreadTime();
  const std::uint64_t bytes = Sum(&sys::ProcessTree::ProportionalMemory);
  const auto cost = ThreadTime() - begin;
  exact_cost_ += cost;
  exact_ = {bytes, all, now + PauseFor(kParts * cost)};
  use_.memory = Bytes(bytes + scratch);
  return use_.memory > limits_.memory;
}

std::optional<End> TreeWatch::Look(Clock::time_point now) {
  const auto begin = ThreadTime();
  const auto exact_before = exact_cost_;
  Count();
  std::optional<End> end;
  if (use_.tasks > limits_.tasks) {
    end = End::kProcessLimit;
  } else if (ExceedsMemory(now)) {
    end = End::kOutOfMemory;
  } else if (limits_.cpu_time > Duration::zero() && use_.cpu_time >= limits_.cpu_time) {
    end = End::kCpuLimit;
  }
  const auto exact = exact_cost_ - exact_before;
  pause_ = PauseFor(kParts * (ThreadTime() - begin - exact) + kCountedParts * exact);
  return end;
}

void TreeWatch::Describe(Outcome& outcome) const {
  if (outcome.end != End::kOutOfMemory && outcome.end != End::kProcessLimit) return;
  outcome.signal = SIGKILL;
  if (outcome.end != End::kOutOfMemory) return;
  outcome.memory_peak = use_.memory;
  outcome.oom_kills = use_.processes;
}

}  // namespace polybox::jail
