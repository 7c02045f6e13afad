#include "base/clock.h"

namespace polybox {
namespace {

class SystemClock : public Clock {
 public:
  std::chrono::steady_clock::time_point Now() const override {
    return std::chrono::steady_clock::now();
  }
  std::chrono::system_clock::time_point WallNow() const override {
    return std::chrono::system_clock::now();
  }
};

}  // namespace

const Clock& Clock::System() {
  static const SystemClock clock;
  return clock;
}

void FakeClock::Advance(Duration by) {
  now_ += by;
  wall_ += std::chrono::duration_cast<std::chrono::system_clock::duration>(by);
}

}  // namespace polybox
