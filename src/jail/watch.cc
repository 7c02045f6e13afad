#include "jail/watch.h"

#include <algorithm>
#include <poll.h>

namespace polybox::jail {
namespace {

using Clock = std::chrono::steady_clock;

/// True when there is something on the socket; false when the time was up, or the attendant was
/// called.
bool WaitFor(int socket, Clock::duration time, Attendant* attendant, std::vector<pollfd>& polled) {
  const auto nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
  const timespec wait = {nanoseconds / 1'000'000'000, nanoseconds % 1'000'000'000};
  polled.assign(1, {socket, POLLIN, 0});
  if (attendant != nullptr) attendant->Await(polled);
  const int ready = ::ppoll(polled.data(), polled.size(), &wait, nullptr);
  const bool spoke = ready > 0 && polled[0].revents != 0;
  if (attendant != nullptr && ready > (spoke ? 1 : 0)) attendant->Attend();
  return spoke;
}

/// The earliest moment from now at which `left` of the processor can be used up.
Clock::duration SoonestEnd(Duration left, Duration cpu_per_second) {
  const double rate = std::chrono::duration<double>(cpu_per_second).count();
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(left) / rate);
}

}  // namespace

Watched WatchPod(int socket, const WatchLimits& limits, const sys::SlotCgroup* cgroup,
                 Attendant* attendant) {
  const Clock::time_point deadline = Clock::now() + limits.wall_time;
  const bool watches_cpu = cgroup != nullptr && limits.cpu_time > Duration::zero();
  Duration left = limits.cpu_time;
  std::vector<pollfd> polled;
  while (true) {
    Clock::duration wait = std::max(deadline - Clock::now(), Clock::duration::zero());
    if (watches_cpu) wait = std::min(wait, SoonestEnd(left, limits.cpu_per_second));
    if (WaitFor(socket, wait, attendant, polled)) return Watched::kWord;
    if (Clock::now() >= deadline) return Watched::kWallTime;
    if (!watches_cpu) continue;
    left = limits.cpu_time - cgroup->CpuTime();
    if (left <= Duration::zero()) return Watched::kCpuTime;
  }
}

}  // namespace polybox::jail
