#include "jail/init/cpu_share.h"

#include <algorithm>
#include <ctime>

#include "jail/init/raw.h"

namespace polybox::jail::init {
namespace {

// The share is one part in this many. A test allows 5 % of a processor for all processes of polybox
// together, and a guest can wake the slot init too (netlink.cc).
constexpr std::int64_t kParts = 48;
// Processor time that may be used without a pause, in nanoseconds: enough to reap some hundred
// orphans.
constexpr std::int64_t kAtOnce = 4'000'000;
// Falling asleep and waking up take some microseconds themselves.
constexpr std::int64_t kShortestSleep = 1'000'000;
// Signals from the server wait during a sleep.
constexpr std::int64_t kLongestSleep = 100'000'000;

constexpr std::int64_t kSecond = 1'000'000'000;

std::int64_t Now(clockid_t clock) {
  timespec now{};
  Raw(SYS_clock_gettime, clock, &now);
  return now.tv_sec * kSecond + now.tv_nsec;
}

}  // namespace

// The init has one thread but shares memory with another process. So its own time is the thread's
// time.
CpuShare::CpuShare() : used_before_(Now(CLOCK_THREAD_CPUTIME_ID)), begin_(Now(CLOCK_MONOTONIC)) {}

void CpuShare::Keep() const {
  const std::int64_t used = Now(CLOCK_THREAD_CPUTIME_ID) - used_before_;
  const std::int64_t owed = used - kAtOnce - (Now(CLOCK_MONOTONIC) - begin_) / kParts;
  if (owed <= 0) return;
  const timespec sleep = {0, std::clamp(owed * kParts, kShortestSleep, kLongestSleep)};
  Raw(SYS_nanosleep, &sleep, nullptr);
}

}  // namespace polybox::jail::init
