#include "jail/watched_tree.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include "jail/from_cell.h"

namespace polybox::jail {
namespace {

/// Beyond the life of a server, and short enough to be added to the time of a clock.
constexpr Duration kForever = std::chrono::hours(24 * 365 * 10);

/// A wall time of 0 is no limit.
WatchLimits ToWatch(const RunLimits& limits) {
  WatchLimits watched = WatchLimitsOf(limits);
  if (watched.wall_time <= Duration::zero()) watched.wall_time = kForever;
  return watched;
}

}  // namespace

void WatchedTree::Start(TreeRoots roots) {
  if (facts_.cgroup == nullptr) tree_.emplace(std::move(roots), GroupTreeLimits(facts_.limits));
  begin_ = Clock::now();
  watch_.emplace(ToWatch(facts_.limits),
                 Counters{.cgroup = facts_.cgroup, .tree = tree_ ? &*tree_ : nullptr});
}

std::optional<End> WatchedTree::Check(Clock::time_point now) {
  if (ending_ || !watch_) return std::nullopt;
  const std::optional<End> exceeded = watch_->Check(now);
  NotePeak();
  if (exceeded) EndFor(*exceeded);
  return exceeded;
}

void WatchedTree::EndFor(End reason) {
  if (!ending_) ending_ = reason;
}

Outcome WatchedTree::NotStarted(const init::Failed& failed) const {
  Outcome outcome = jail::NotStarted(failed, facts_.program, facts_.home);
  outcome.wall = Clock::now() - begin_;
  outcome.limits_lowered = facts_.lowered;
  return outcome;
}

Outcome WatchedTree::Ended(const init::Ended& ended, Clock::time_point when) {
  Outcome outcome = FromEnded(ended);
  if (ending_ && outcome.end == End::kSignalled && outcome.signal == SIGKILL) {
    outcome.end = *ending_;
    // The server itself sent the SIGKILL.
    if (outcome.end != End::kSignalled) outcome.signal = 0;
  }
  AddUsage(outcome);
  if (ending_ == outcome.end && tree_) tree_->Describe(outcome);
  outcome.wall = when - begin_;
  outcome.limits_lowered = facts_.lowered;
  if (watch_) watch_->ForgetDeadline();
  return outcome;
}

void WatchedTree::AddUsage(Outcome& outcome) const {
  if (facts_.cgroup != nullptr) jail::AddUsage(*facts_.cgroup, outcome);
}

void WatchedTree::NotePeak() {
  if (tree_) tree_peak_ = std::max(tree_peak_, tree_->use().memory);
}

TreeUse WatchedTree::LookAtUse() {
  if (!tree_) return {};
  (void)tree_->Look();
  NotePeak();
  TreeUse use = tree_->use();
  use.memory = tree_peak_;
  return use;
}

void WatchedTree::Forget() {
  watch_.reset();
  facts_.cgroup = nullptr;
}

}  // namespace polybox::jail
