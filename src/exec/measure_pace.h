// How often the watch of a base directory measures the directory. A guest chooses how long that
// takes, by the number of its files, and the time is not the guest's. Pure: no clock, no directory.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "base/units.h"

namespace polybox::exec {

/// The figures of fstatvfs(), which costs a microsecond. Counting the files of a tree costs much
/// more.
struct SpaceFigures {
  Bytes free;
  std::uint64_t free_files = 0;

  bool operator==(const SpaceFigures&) const = default;
};

class MeasurePace {
 public:
  using Clock = std::chrono::steady_clock;

  /// A measurement is followed by a rest of so many times its processor time: measuring takes at
  /// most 4 % of a processor. SECURITY.md promises 5 % for all that a guest can make polybox do.
  static constexpr int kRest = 24;
  /// A rest is cut short when more space has gone than commands may use. The rests that were cut
  /// are made up for later, up to this much.
  static constexpr Clock::duration kMostOwed = std::chrono::seconds(10);
  /// Between two measurements when the figures stand still: another process may have made room.
  static constexpr Clock::duration kAtLeast = std::chrono::seconds(1);

  bool IsDue(Clock::time_point now, const SpaceFigures& figures) const {
    if (figures.free < low_) return rested_at_ <= now + kMostOwed;
    if (now < rested_at_) return false;
    return figures != last_ || now >= done_ + kAtLeast;
  }

  /// After a measurement that ended at `now` and used `cost` of processor time. The `figures` are
  /// those from before; commands may write `room` more.
  void Measured(Clock::time_point now, Clock::duration cost, const SpaceFigures& figures,
                Bytes room) {
    rested_at_ = std::max(rested_at_, now) + kRest * cost;
    done_ = now;
    last_ = figures;
    low_ = Bytes(figures.free.count() - std::min(figures.free.count(), room.count()));
  }

 private:
  Clock::time_point rested_at_;
  Clock::time_point done_;
  SpaceFigures last_;
  /// With less space left than this, commands have used more than they may, or others have.
  Bytes low_;
};

}  // namespace polybox::exec
