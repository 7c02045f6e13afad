// A check that holds for slots of every grade: signals reach the guest, and a kill ends the run.
#pragma once

#include <csignal>
#include <thread>

#include <gtest/gtest.h>

#include "base/testing/await.h"
#include "jail/testing/run_in.h"

namespace polybox::jail {

/// Sends the signal as soon as the guest has made a file in the working directory of the slot.
inline std::jthread SignalWhenThere(Slot& slot, int signal) {
  return std::jthread([&slot, signal] {
    EXPECT_TRUE(polybox::testing::Await([&] { return !slot.IsEmpty("."); }));
    slot.Signal(signal);
  });
}

/// Runs two programs in the slot, whose working directory must be empty.
inline void CheckSignals(Slot& slot) {
  const auto shell = [&](const char* script) { return RunIn(slot, {"/bin/sh", "-c", script}, {}); };
  {
    const std::jthread interrupter = SignalWhenThere(slot, SIGINT);
    const Ran asked =
        shell("trap 'echo caught; exit 3' INT; : > here; while :; do sleep 0.01; done");
    EXPECT_EQ(asked.out, "caught\n");
    EXPECT_EQ(asked.outcome.exit_code, 3);
  }
  ASSERT_TRUE(slot.Reset().ok());
  const std::jthread killer = SignalWhenThere(slot, SIGKILL);
  EXPECT_EQ(shell(": > here; sleep 30").outcome.end, End::kCancelled);
}

}  // namespace polybox::jail
