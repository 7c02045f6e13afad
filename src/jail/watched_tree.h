// What the server knows about the processes that it has started in a slot: a run (slot.h), or a
// process of a lease (lease.h) with its descendants. A WatchedTree keeps the limits of the tree,
// and turns the words of a cell or a supervisor into the Outcome. How a tree is killed is up to the
// owner. One thread at a time may use an object.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "jail/init/protocol.h"
#include "jail/outcome.h"
#include "jail/run_limits.h"
#include "jail/scratch_home.h"
#include "jail/tree_watch.h"
#include "jail/watch.h"
#include "sys/cgroup.h"

namespace polybox::jail {

/// What is known about a tree before it starts.
struct TreeFacts {
  /// Counts what the tree uses; null in grades without cgroups. Borrowed: it must outlive the
  /// WatchedTree, or Forget() must be called first.
  const sys::SlotCgroup* cgroup = nullptr;
  RunLimits limits;
  /// argv[0], for the message that the program could not be started.
  std::string program;
  /// See Outcome::limits_lowered.
  std::vector<std::string> lowered = {};
  /// Null in grades with namespaces. Borrowed.
  const ScratchHome* home = nullptr;
};

class WatchedTree {
 public:
  using Clock = Watch::Clock;

  explicit WatchedTree(TreeFacts facts) : facts_(std::move(facts)) {}

  /// The tree starts now: its limits count from here. `roots` are the processes to add up where
  /// there is no cgroup.
  void Start(TreeRoots roots);
  /// When to call Check() next.
  Clock::time_point next() const { return watch_ ? watch_->next() : Clock::time_point::max(); }
  /// Returns the limit that the tree exceeds, if any, and records it as the reason of the end.
  std::optional<End> Check(Clock::time_point now);
  /// The owner ends the tree. The first reason counts.
  void EndFor(End reason);
  /// Why the tree is being ended; nothing before that.
  const std::optional<End>& ending() const { return ending_; }

  /// Returns the outcome of a program that could not be started.
  Outcome NotStarted(const init::Failed& failed) const;
  /// Returns the outcome of a main process that ended at `when`. Its SIGKILL has the reason that is
  /// recorded, or comes from the kernel for want of memory, or is what it is. The wall time no
  /// longer counts.
  Outcome Ended(const init::Ended& ended, Clock::time_point when);
  /// Adds the figures of the cgroup, if there is one. They can still grow after Ended(), because
  /// the kernel counts a process that it has killed only when that process has ended.
  void AddUsage(Outcome& outcome) const;
  /// What all processes use now, where there is no cgroup. The memory is the most that a look has
  /// found.
  TreeUse LookAtUse();
  /// Call when all processes have ended: nothing is watched any more, and the cgroup may go.
  void Forget();

 private:
  void NotePeak();

  TreeFacts facts_;
  Clock::time_point begin_ = Clock::now();
  /// Nothing where a cgroup counts.
  std::optional<TreeWatch> tree_;
  Bytes tree_peak_;
  std::optional<Watch> watch_;
  std::optional<End> ending_;
};

}  // namespace polybox::jail
