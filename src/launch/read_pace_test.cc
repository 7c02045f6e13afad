#include "launch/read_pace.h"

#include <gtest/gtest.h>

namespace polybox::launch {
namespace {

using Clock = ReadPace::Clock;

constexpr Clock::duration kNone = Clock::duration::zero();

TEST(ReadPace, ABurstOfSmallReadsNeverRests) {
  ReadPace pace;
  const Clock::time_point now = Clock::now();
  for (int i = 0; i < ReadPace::kAtOnce; ++i) {
    EXPECT_EQ(pace.Rest(now), kNone) << i;
    pace.Took(1, now);
  }
  EXPECT_EQ(pace.Rest(now), kNone);
  pace.Took(1, now);
  EXPECT_EQ(pace.Rest(now), ReadPace::kPause);
  EXPECT_EQ(pace.Rest(now + ReadPace::kPause), kNone);
}

TEST(ReadPace, AnEndlessRowOfSmallReadsIsAsSlowAsThePause) {
  ReadPace pace;
  const Clock::time_point begin = Clock::now();
  Clock::time_point now = begin;
  constexpr int kReads = 10'000;
  for (int i = 0; i < kReads; ++i) {
    now += pace.Rest(now) + std::chrono::microseconds(1);
    pace.Took(1, now);
  }
  EXPECT_GE(now - begin, (kReads - ReadPace::kAtOnce - 1) * ReadPace::kPause);
}

TEST(ReadPace, LargeReadsAndThoseOfNothingAreFree) {
  ReadPace pace;
  const Clock::time_point now = Clock::now();
  for (int i = 0; i < 10'000; ++i) {
    pace.Took(ReadPace::kSmall, now);
    pace.Took(0, now);
  }
  EXPECT_EQ(pace.Rest(now), kNone);
}

TEST(ReadPace, AQuietTimeGivesTheBurstBack) {
  ReadPace pace;
  Clock::time_point now = Clock::now();
  for (int i = 0; i < 1000; ++i) pace.Took(1, now);
  EXPECT_GT(pace.Rest(now), kNone);
  now += 1000 * ReadPace::kPause;
  for (int i = 0; i < ReadPace::kAtOnce; ++i) pace.Took(1, now);
  EXPECT_EQ(pace.Rest(now), kNone);
}

}  // namespace
}  // namespace polybox::launch
