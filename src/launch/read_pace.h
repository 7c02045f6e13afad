// Decides how often the output of a guest is read. A guest that writes byte by byte would otherwise
// wake the reading thread each time. That costs more than the guest's own write, and the guest's
// cgroup does not pay for it. Between reads, the pipe collects the output. Used by streams.cc, one
// object for each run, one thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace polybox::launch {

class ReadPace {
 public:
  using Clock = std::chrono::steady_clock;

  /// This many small reads may follow each other without a pause, so output of ordinary programs is
  /// never delayed.
  static constexpr std::int64_t kAtOnce = 100;
  /// After that, one small read is allowed in this time.
  static constexpr Clock::duration kPause = std::chrono::milliseconds(2);
  /// A read of at least this many bytes is worth its cost and never causes a pause.
  static constexpr std::uint64_t kSmall = 4096;

  /// Returns how long the caller must not read, from `now` on.
  Clock::duration Rest(Clock::time_point now) const {
    return std::max(free_at_ - kAtOnce * kPause - now, Clock::duration::zero());
  }

  /// Must be called after each read, with the number of bytes that it returned.
  void Took(std::uint64_t bytes, Clock::time_point now) {
    if (bytes == 0 || bytes >= kSmall) return;
    free_at_ = std::max(free_at_, now) + kPause;
  }

 private:
  /// The time at which the pauses of all small reads so far have passed: kPause for each. The
  /// caller may be up to kAtOnce pauses ahead.
  Clock::time_point free_at_;
};

}  // namespace polybox::launch
