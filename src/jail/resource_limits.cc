#include "jail/resource_limits.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <sys/resource.h>

#include "limits/table.h"
#include "sys/own_tasks.h"

namespace polybox::jail {
namespace {

// The names of resource limits that are computed from a limit, for messages.
constexpr std::pair<int, const char*> kNames[] = {{RLIMIT_CPU, "processor time"},
                                                  {RLIMIT_NPROC, "processes"},
                                                  {RLIMIT_DATA, "memory of a process"}};

/// Returns the name of a resource limit for messages; "" for one that follows from no limit.
std::string NameOf(int resource) {
  const auto computed = std::ranges::find(kNames, resource, &std::pair<int, const char*>::first);
  if (computed != std::end(kNames)) return computed->second;
  const auto* limit = std::ranges::find(limits::kLimits, resource, &limits::Limit::rlimit);
  if (limit == limits::kLimits.end()) return "";
  std::string name(limit->key);
  std::ranges::replace(name, '_', ' ');
  return name;
}

/// Returns the resource limits that are equal to a limit of the table.
std::vector<init::ResourceLimit> EqualLimits(const RunLimits& run) {
  const limits::StepLimits all{run, Bytes()};
  std::vector<init::ResourceLimit> equal;
  for (const limits::Limit& limit : limits::kLimits) {
    if (limit.rlimit == limits::kNoRlimit) continue;
    const auto value = static_cast<std::uint64_t>(limits::NumberOf(limit, all));
    equal.push_back({limit.rlimit, value});
  }
  return equal;
}

/// A run whose uid other runs share may have this many times its limit of processes in the kernel's
/// count. The rest is room for processes that other runs start meanwhile: 96 with the default
/// limit of 32, while most runs have fewer than five. A larger factor would let a fork bomb start
/// more between two looks of the TreeWatch.
constexpr std::uint64_t kNeighbours = 4;

/// Returns the value of RLIMIT_NPROC; nothing for no such limit.
std::optional<std::uint64_t> MostTasks(const RunLimits& limits, TaskCounter counter) {
  const auto processes = static_cast<std::uint64_t>(limits.processes);
  if (counter == TaskCounter::kUid) return processes;
  // The kernel counts a uid on the whole machine. In a container it is unknown how many processes
  // other containers have with that uid, so every fork could fail. There the TreeWatch counts
  // alone.
  if (!sys::SeesAllTasks()) return std::nullopt;
  // The process that waits to become the guest is among them.
  const auto others =
      static_cast<std::uint64_t>(std::max<std::int64_t>(sys::CountOwnTasks() - 1, 0));
  // The TreeWatch counts the run; this bounds what a run can start between two looks. Other runs of
  // the uid start processes meanwhile. Only a hard limit of polybox below what this run needs is
  // for LowerTo(), which says so.
  const std::uint64_t hard = OwnHardLimits().at(RLIMIT_NPROC);
  return std::max(others + processes, std::min(others + kNeighbours * processes, hard));
}

}  // namespace

std::vector<init::ResourceLimit> ResourceLimits(const RunLimits& limits, TaskCounter counter) {
  std::vector<init::ResourceLimit> all = EqualLimits(limits);
  for (const int none : {RLIMIT_MEMLOCK, RLIMIT_MSGQUEUE, RLIMIT_RTPRIO}) all.push_back({none, 0});
  // The kernel counts queued signals and timers also for the owner of the slot's user namespace.
  // Its limit (96,000 for 24 GiB) is shared by all slots and the host's own programs.
  all.push_back({RLIMIT_SIGPENDING, 1024});
  if (limits.cpu_time > Duration::zero()) {
    // Whole seconds of one process: only a backstop behind the Watch, which counts all processes.
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(limits.cpu_time).count() + 1;
    all.push_back({RLIMIT_CPU, static_cast<std::uint64_t>(seconds)});
  }
  // A cgroup counts both of the following better. RLIMIT_DATA bounds the memory that one process
  // may write to.
  if (counter == TaskCounter::kCgroup) return all;
  all.push_back({RLIMIT_DATA, limits.memory.count()});
  if (const auto most = MostTasks(limits, counter)) all.push_back({RLIMIT_NPROC, *most});
  return all;
}

std::vector<std::uint64_t> OwnHardLimits() {
  std::vector<std::uint64_t> hard;
  for (int resource = 0; resource < RLIMIT_NLIMITS; ++resource) {
    rlimit now{RLIM_INFINITY, RLIM_INFINITY};
    ::getrlimit(static_cast<__rlimit_resource_t>(resource), &now);
    hard.push_back(now.rlim_max);
  }
  return hard;
}

std::vector<std::string> LowerTo(const std::vector<std::uint64_t>& hard,
                                 std::vector<init::ResourceLimit>& limits) {
  std::vector<std::string> lowered;
  for (init::ResourceLimit& limit : limits) {
    const std::uint64_t most = hard.at(static_cast<std::size_t>(limit.resource));
    if (limit.value <= most) continue;
    if (const std::string name = NameOf(limit.resource); !name.empty()) {
      lowered.push_back(fmt::format(
          "{}: {} instead of {}, because the hard limit of polybox (ulimit -H) is that low", name,
          most, limit.value));
    }
    limit.value = most;
  }
  return lowered;
}

HeldResources HoldResources(const RunLimits& limits, TaskCounter counter) {
  static const std::vector<std::uint64_t> kHard = OwnHardLimits();
  HeldResources held = {ResourceLimits(limits, counter), {}};
  held.lowered = LowerTo(kHard, held.limits);
  return held;
}

Bytes LeastMemory(const RunRequest& request) {
  constexpr std::uint64_t kForExec = 128 * 1024;
  std::uint64_t words = 0;
  for (const auto* texts : {&request.argv, &request.env}) {
    for (const std::string& text : *texts) words += text.size() + sizeof(char*);
  }
  return Bytes(kForExec + 2 * words);
}

}  // namespace polybox::jail
