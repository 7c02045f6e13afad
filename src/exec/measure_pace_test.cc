#include "exec/measure_pace.h"

#include <gtest/gtest.h>

namespace polybox::exec {
namespace {

using std::chrono::milliseconds;

constexpr MeasurePace::Clock::time_point kStart{std::chrono::hours(1)};

SpaceFigures Free(std::uint64_t mebibytes) {
  return {Bytes::MiB(mebibytes), 1000};
}

TEST(MeasurePace, RestsAfterAMeasurementThatTookLong) {
  MeasurePace pace;
  EXPECT_TRUE(pace.IsDue(kStart, Free(1000)));
  pace.Measured(kStart, milliseconds(100), Free(1000), Bytes::MiB(50));
  EXPECT_FALSE(pace.IsDue(kStart + milliseconds(2399), Free(999)));
  EXPECT_TRUE(pace.IsDue(kStart + milliseconds(2400), Free(999)));
}

TEST(MeasurePace, MeasuresOnceASecondWhenNothingMoves) {
  MeasurePace pace;
  pace.Measured(kStart, milliseconds(1), Free(1000), Bytes::MiB(50));
  EXPECT_FALSE(pace.IsDue(kStart + milliseconds(999), Free(1000)));
  EXPECT_TRUE(pace.IsDue(kStart + milliseconds(1000), Free(1000)));
}

TEST(MeasurePace, CutsARestShortWhenMoreHasGoneThanCommandsMayUse) {
  MeasurePace pace;
  pace.Measured(kStart, milliseconds(100), Free(1000), Bytes::MiB(50));
  EXPECT_FALSE(pace.IsDue(kStart + milliseconds(25), Free(950)));
  EXPECT_TRUE(pace.IsDue(kStart + milliseconds(25), Free(949)));
}

TEST(MeasurePace, MakesUpForRestsThatWereCutShort) {
  MeasurePace pace;
  MeasurePace::Clock::time_point now = kStart;
  MeasurePace::Clock::duration measured{};
  // The worst that a guest can do: for ten minutes each measurement finds too little space.
  for (std::uint64_t free = 1 << 20; now < kStart + std::chrono::minutes(10);
       now += milliseconds(25)) {
    free -= 10;
    if (!pace.IsDue(now, Free(free))) continue;
    pace.Measured(now, milliseconds(100), Free(free), Bytes::MiB(5));
    measured += milliseconds(100);
  }
  EXPECT_LE(measured,
            (now - kStart + MeasurePace::kMostOwed) / MeasurePace::kRest + milliseconds(100));
  EXPECT_GE(measured, (now - kStart) / MeasurePace::kRest);
}

}  // namespace
}  // namespace polybox::exec
