#include "jail/resource_limits.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include <sys/resource.h>

#include "sys/own_tasks.h"

namespace polybox::jail {

std::vector<init::ResourceLimit> ResourceLimits(const RunLimits& limits, bool has_cgroup) {
  // Whole seconds of one process: with a cgroup only a backstop behind the watcher, which counts
  // all of them.
  const auto seconds =
      std::chrono::ceil<std::chrono::seconds>(limits.cpu_time).count() + (has_cgroup ? 1 : 0);
  std::vector<init::ResourceLimit> all = {
      {RLIMIT_AS, limits.address_space.count()},
      {RLIMIT_FSIZE, limits.file_size.count()},
      {RLIMIT_NOFILE, static_cast<std::uint64_t>(limits.open_files)},
      {RLIMIT_STACK, limits.stack.count()},
      {RLIMIT_CPU, static_cast<std::uint64_t>(seconds)},
      {RLIMIT_CORE, 0},
      {RLIMIT_MEMLOCK, 0},
      {RLIMIT_MSGQUEUE, 0},
      {RLIMIT_RTPRIO, 0}};
  // A cgroup counts both better. Processes are those of the uid in the slot's user namespace,
  // memory is what one of them may write to.
  if (!has_cgroup) {
    all.push_back({RLIMIT_NPROC, static_cast<std::uint64_t>(limits.processes)});
    all.push_back({RLIMIT_DATA, limits.memory.count()});
  }
  return all;
}

void SetMemory(RunLimits& limits, Bytes memory) {
  if (memory > limits.memory) {
    const std::uint64_t more = memory.count() - limits.memory.count();
    const std::uint64_t room =
        std::numeric_limits<std::uint64_t>::max() - limits.address_space.count();
    limits.address_space = Bytes(limits.address_space.count() + std::min(more, room));
  }
  limits.memory = memory;
}

Bytes LeastMemory(const RunRequest& request) {
  constexpr std::uint64_t kForExec = 128 * 1024;
  std::uint64_t words = 0;
  for (const auto* texts : {&request.argv, &request.env}) {
    for (const std::string& text : *texts) words += text.size() + sizeof(char*);
  }
  return Bytes(kForExec + 2 * words);
}

RunLimits WithOwnTasks(RunLimits limits) {
  rlimit now{};
  ::getrlimit(RLIMIT_NPROC, &now);
  const auto most = static_cast<std::int64_t>(std::min<rlim_t>(now.rlim_max, INT64_MAX));
  limits.processes = std::min(limits.processes + sys::CountOwnTasks(), most);
  return limits;
}

}  // namespace polybox::jail
