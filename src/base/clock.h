// Clock is the seam for code whose behaviour depends on the time, so that tests decide what time it
// is.
#pragma once

#include <chrono>

#include "base/units.h"

namespace polybox {

class Clock {
 public:
  virtual ~Clock() = default;
  /// Monotonic: for deadlines and measuring.
  virtual std::chrono::steady_clock::time_point Now() const = 0;
  /// Wall time: for showing to people and comparing with file times.
  virtual std::chrono::system_clock::time_point WallNow() const = 0;

  /// The machine's clock. Lives as long as the process; any thread may use it.
  static const Clock& System();
};

/// A clock that stands still until it is told to move. For tests; one thread at a time.
class FakeClock : public Clock {
 public:
  std::chrono::steady_clock::time_point Now() const override { return now_; }
  std::chrono::system_clock::time_point WallNow() const override { return wall_; }
  void Advance(Duration by);

 private:
  std::chrono::steady_clock::time_point now_;
  std::chrono::system_clock::time_point wall_;
};

}  // namespace polybox
