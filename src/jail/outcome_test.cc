#include "jail/outcome.h"

#include <csignal>

#include <gtest/gtest.h>

namespace polybox::jail {
namespace {

Outcome Ending(End end, int exit_code = 0, int signal = 0) {
  Outcome outcome;
  outcome.end = end;
  outcome.exit_code = exit_code;
  outcome.signal = signal;
  return outcome;
}

TEST(Outcome, TheShellsCodeIsTheExitCodeOr128AndTheSignal) {
  EXPECT_EQ(ShellCode(Ending(End::kExited, 3)), 3);
  EXPECT_EQ(ShellCode(Ending(End::kExited, 137)), 137);
  EXPECT_EQ(ShellCode(Ending(End::kSignalled, 0, SIGSEGV)), 139);
  EXPECT_EQ(ShellCode(Ending(End::kTimedOut)), 137);
  EXPECT_EQ(ShellCode(Ending(End::kSetupFailed)), 125);
}

TEST(Outcome, SignalsHaveTheirNames) {
  EXPECT_EQ(SignalName(0), "");
  EXPECT_EQ(SignalName(SIGKILL), "SIGKILL");
  EXPECT_EQ(SignalName(SIGSYS), "SIGSYS");
  EXPECT_EQ(SignalName(40), "SIG40");
}

TEST(Outcome, AnExitNeedsNoExplanationAndALimitIsNamed) {
  const auto explain = [](const Outcome& outcome) {
    return Explain(outcome, {.wall_time = std::chrono::seconds(2), .output = Bytes::KiB(64)});
  };
  EXPECT_EQ(explain(Ending(End::kExited, 1)), "");
  EXPECT_EQ(explain(Ending(End::kTimedOut)), "stopped: it ran longer than 2s");
  EXPECT_EQ(explain(Ending(End::kOutOfMemory)), "") << "exec/memory_note.h tells";
  EXPECT_EQ(explain(Ending(End::kOutputLimit)), "stopped: it printed more than 64KiB");
  EXPECT_EQ(explain(Ending(End::kSignalled, 0, SIGSYS)), "ended by SIGSYS");
}

}  // namespace
}  // namespace polybox::jail
