// An interface for the time. Code whose behaviour depends on the time takes a Clock, so that tests
// can set the time.
#pragma once

#include <chrono>

#include "base/units.h"

namespace polybox {

class Clock {
 public:
  virtual ~Clock() = default;
  /// Monotonic time, for deadlines and measurements.
  virtual std::chrono::steady_clock::time_point Now() const = 0;
  /// Wall time, to show to people and to compare with file times.
  virtual std::chrono::system_clock::time_point WallNow() const = 0;

  /// The machine's clock. It exists as long as the process; any thread may use it.
  static const Clock& System();
};

/// A clock for tests that changes only when Advance() is called. One thread at a time.
class FakeClock : public Clock {
 public:
  std::chrono::steady_clock::time_point Now() const override { return now_; }
  std::chrono::system_clock::time_point WallNow() const override { return wall_; }
  /// Moves both times forward.
  void Advance(Duration by);

 private:
  std::chrono::steady_clock::time_point now_;
  std::chrono::system_clock::time_point wall_;
};

}  // namespace polybox
