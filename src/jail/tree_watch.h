// Enforces the limits of a whole run where there is no cgroup. It adds up what all processes of the
// run use and tells which limit is exceeded. Between two looks a run can exceed its limits. One
// thread at a time may use a TreeWatch.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/unique_fd.h"
#include "base/units.h"
#include "jail/outcome.h"
#include "sys/process_tree.h"

namespace polybox::jail {

struct TreeLimits {
  /// The number of threads of all processes together.
  std::int64_t tasks = 0;
  Bytes memory;
  /// 0 is no limit.
  Duration cpu_time{};

  bool operator==(const TreeLimits&) const = default;
};

/// The processes to watch. All PIDs are those of the server's /proc.
struct TreeRoots {
  pid_t root = -1;
  /// Processes of polybox in the tree. Their own use does not count as the run's.
  std::vector<pid_t> own;
  /// The slot's root directory, for the scratch directories in memory; -1 if they are on a disk.
  /// Borrowed.
  int scratch = -1;
};

/// What the processes of a run use together.
struct TreeUse {
  std::int64_t processes = 0;
  std::int64_t tasks = 0;
  Duration cpu_time{};
  Bytes memory;
};

class TreeWatch {
 public:
  using Clock = std::chrono::steady_clock;

  /// What the tree has used by now is not counted.
  TreeWatch(TreeRoots roots, const TreeLimits& limits, sys::ProcessTree tree = sys::ProcessTree());

  /// Returns how the run ends when it exceeds a limit: kProcessLimit, kOutOfMemory or kCpuLimit.
  std::optional<End> Look(Clock::time_point now = Clock::now());
  /// How long to wait before the next call of Look(): from 20 to 200 ms. In between so long that
  /// looking takes at most a hundredth of a processor, and ProportionalMemory() at most a fifth.
  std::chrono::nanoseconds Pause() const { return pause_; }

  /// As of the last call of Look(). The memory is an upper bound unless it was what ended the run.
  const TreeUse& use() const { return use_; }
  /// Adds the signal and the memory figures to the outcome of a run that Look() ended. Other
  /// outcomes stay as they are.
  void Describe(Outcome& outcome) const;

 private:
  struct Seen {
    std::uint64_t start = 0;
    /// The process's own processor time, and the time of the children that it has reaped.
    Duration own{};
    Duration reaped{};
  };
  using SeenAll = std::unordered_map<pid_t, Seen>;
  /// What the processes had by ProportionalMemory() when that was last measured.
  struct Exact {
    std::uint64_t bytes = 0;
    /// The least that they had by PrivateMemory() since.
    std::uint64_t least_private = 0;
    /// When to measure again although that has not grown.
    Clock::time_point due;
  };

  bool IsOwn(pid_t pid) const;
  void Count();
  void Add(const sys::ProcessStat& stat, SeenAll& now);
  /// Adds to `lost_` what processes used that ended since the last look and that nobody has reaped
  /// by wait(). The kernel adds those to nobody's time.
  void FindLost(const SeenAll& now);
  bool ExceedsMemory(Clock::time_point now);
  bool ExceedsSharedMemory(std::uint64_t scratch, Clock::time_point now);
  std::uint64_t Sum(Bytes (sys::ProcessTree::*measure)(const sys::ProcessStat&) const) const;
  std::uint64_t ScratchMemory() const;

  const TreeRoots roots_;
  const TreeLimits limits_;
  const sys::ProcessTree tree_;
  /// The scratch directories in memory.
  std::vector<UniqueFd> scratch_;
  std::vector<sys::ProcessStat> stats_;
  SeenAll seen_;
  Duration lost_{};
  /// What the last look added to `lost_`.
  Duration just_lost_{};
  Duration before_{};
  TreeUse use_;
  std::optional<Exact> exact_;
  /// Processor time of all calls of ProportionalMemory(). A guest chooses how much that is, by what
  /// its processes share: it counts as the run's.
  std::chrono::nanoseconds exact_cost_{};
  std::chrono::nanoseconds pause_{};
};

}  // namespace polybox::jail
