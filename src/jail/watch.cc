#include "jail/watch.h"

#include <algorithm>
#include <chrono>
#include <poll.h>

namespace polybox::jail {
namespace {

using Clock = Watch::Clock;

// A program that sleeps when it has used almost all of its processor time would otherwise be looked
// at all the time. It can exceed the limit by this much.
constexpr Clock::duration kBetweenLooks = std::chrono::milliseconds(2);

/// Returns the shortest time in which `left` of the processor time can be used up.
Clock::duration SoonestEnd(Duration left, Duration cpu_per_second) {
  const double rate = std::chrono::duration<double>(cpu_per_second).count();
  return std::max(kBetweenLooks, std::chrono::duration_cast<Clock::duration>(
                                     std::chrono::duration<double>(left) / rate));
}

/// Returns the time until the first look can find anything; nothing when no counter exists.
std::optional<Clock::duration> FirstLook(const WatchLimits& limits, const Counters& counters) {
  if (counters.tree != nullptr) return counters.tree->Pause();
  if (counters.cgroup == nullptr || limits.cpu_time <= Duration::zero()) return std::nullopt;
  return SoonestEnd(limits.cpu_time, limits.cpu_per_second);
}

}  // namespace

Watch::Look Watch::LookAt(const WatchLimits& limits, const Counters& counters) {
  if (counters.tree != nullptr) {
    return [tree = counters.tree](Clock::duration& wait) {
      const std::optional<End> end = tree->Look();
      wait = tree->Pause();
      return end;
    };
  }
  return [limits, cgroup = counters.cgroup](Clock::duration& wait) -> std::optional<End> {
    const Duration left = limits.cpu_time - cgroup->CpuTime();
    if (left <= Duration::zero()) return End::kCpuLimit;
    wait = SoonestEnd(left, limits.cpu_per_second);
    return std::nullopt;
  };
}

Watch::Watch(const WatchLimits& limits, const Counters& counters)
    : deadline_(Clock::now() + limits.wall_time), look_(LookAt(limits, counters)) {
  const std::optional<Clock::duration> first = FirstLook(limits, counters);
  next_look_ = first ? Clock::now() + *first : Clock::time_point::max();
}

std::optional<End> Watch::Check(Clock::time_point now) {
  if (now >= deadline_) return End::kTimedOut;
  if (now < next_look_) return std::nullopt;
  Clock::duration pause{};
  if (const std::optional<End> end = look_(pause)) return end;
  next_look_ = now + pause;
  return std::nullopt;
}

bool AwaitMessage(int socket, Clock::duration time, Attendant* attendant,
                  std::vector<pollfd>& polled) {
  polled.assign(1, {socket, POLLIN, 0});
  auto most = std::chrono::duration_cast<std::chrono::nanoseconds>(time);
  if (attendant != nullptr) most = std::min(most, attendant->Await(polled));
  const timespec wait = {most.count() / 1'000'000'000, most.count() % 1'000'000'000};
  const int ready = ::ppoll(polled.data(), polled.size(), &wait, nullptr);
  const bool spoke = ready > 0 && polled[0].revents != 0;
  if (attendant != nullptr && ready > (spoke ? 1 : 0)) attendant->Attend();
  return spoke;
}

}  // namespace polybox::jail
