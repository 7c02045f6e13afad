#include "jail/watch.h"

#include <algorithm>
#include <poll.h>

namespace polybox::jail {
namespace {

using Clock = std::chrono::steady_clock;

/// False when the time was up first.
bool WaitFor(int socket, Clock::duration time) {
  const auto nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
  const timespec wait = {nanoseconds / 1'000'000'000, nanoseconds % 1'000'000'000};
  pollfd polled = {socket, POLLIN, 0};
  return ::ppoll(&polled, 1, &wait, nullptr) > 0;
}

/// The earliest moment from now at which `left` of the processor can be used up.
Clock::duration SoonestEnd(Duration left, Duration cpu_per_second) {
  const double rate = std::chrono::duration<double>(cpu_per_second).count();
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(left) / rate);
}

}  // namespace

Watched WatchPod(int socket, const WatchLimits& limits, const sys::SlotCgroup* cgroup) {
  const Clock::time_point deadline = Clock::now() + limits.wall_time;
  const bool watches_cpu = cgroup != nullptr && limits.cpu_time > Duration::zero();
  Duration left = limits.cpu_time;
  while (true) {
    Clock::duration wait = std::max(deadline - Clock::now(), Clock::duration::zero());
    if (watches_cpu) wait = std::min(wait, SoonestEnd(left, limits.cpu_per_second));
    if (WaitFor(socket, wait)) return Watched::kWord;
    if (Clock::now() >= deadline) return Watched::kWallTime;
    if (!watches_cpu) continue;
    left = limits.cpu_time - cgroup->CpuTime();
    if (left <= Duration::zero()) return Watched::kCpuTime;
  }
}

}  // namespace polybox::jail
