#include "exec/memory_note.h"

#include <csignal>

#include <gtest/gtest.h>

namespace polybox::exec {
namespace {

using jail::End;
using jail::Outcome;

Outcome Ending(End end, std::int64_t oom_kills, Bytes peak = Bytes::MiB(255)) {
  Outcome outcome;
  outcome.end = end;
  outcome.oom_kills = oom_kills;
  outcome.memory_peak = peak;
  return outcome;
}

MemoryTerms Terms(StepKind step = StepKind::kRun) {
  return {.step = step,
          .memory = Bytes::MiB(256),
          .address_space = Bytes::MiB(1024),
          .words = {"\nMemoryError", "heap out of memory"},
          .raised_by = "--memory"};
}

TEST(MemoryNote, AKillIsToldWithItsLimitAndWhatRaisesIt) {
  EXPECT_EQ(MemoryNote(Ending(End::kOutOfMemory, 1), "", Terms()),
            "polybox: killed: out of memory (limit 256MiB; raise it with --memory)\n");
  EXPECT_EQ(MemoryNote(Ending(End::kOutOfMemory, 2), "", Terms(StepKind::kCompile)),
            "polybox: compilation killed: out of memory (limit 256MiB; raise it with --memory)\n");
  MemoryTerms fixed = Terms();
  fixed.raised_by = "";
  EXPECT_EQ(MemoryNote(Ending(End::kOutOfMemory, 1), "", fixed),
            "polybox: killed: out of memory (limit 256MiB)\n");
}

TEST(MemoryNote, AChildThatWasKilledIsToldHoweverTheRunEnded) {
  for (const End end : {End::kExited, End::kSignalled, End::kTimedOut}) {
    EXPECT_EQ(MemoryNote(Ending(end, 1), "", Terms()),
              "polybox: 1 process of the run killed: out of memory (limit 256MiB; raise it with "
              "--memory)\n");
  }
  EXPECT_EQ(MemoryNote(Ending(End::kExited, 3), "", Terms(StepKind::kCompile)),
            "polybox: 3 processes of the compilation killed: out of memory (limit 256MiB; raise it "
            "with --memory)\n");
}

TEST(MemoryNote, AKillFarBelowTheLimitIsNotBlamedOnTheLimit) {
  EXPECT_EQ(MemoryNote(Ending(End::kOutOfMemory, 1, Bytes::MiB(40)), "", Terms()),
            "polybox: killed: the machine, or the container of polybox, is out of memory (used "
            "40MiB of its limit 256MiB)\n");
}

TEST(MemoryNote, ALimitUnderWhichNothingStartsIsTold) {
  EXPECT_EQ(MemoryNote(Ending(End::kOutOfMemory, 0, Bytes(0)), "", Terms()),
            "polybox: not started: too little memory for any program (limit 256MiB; raise it with "
            "--memory)\n");
}

TEST(MemoryNote, WordsOfTheRuntimeAreQuotedAndNoMoreIsClaimed) {
  Outcome failed = Ending(End::kExited, 0);
  failed.exit_code = 1;
  EXPECT_EQ(MemoryNote(failed, "Traceback\nMemoryError\n", Terms()),
            "polybox: the error output says \"MemoryError\", and no process was killed (limits: "
            "memory 256MiB, address space 1GiB; raise the first with --memory; a runtime can have "
            "a limit of its own)\n");
  failed.memory_peak.reset();
  EXPECT_EQ(MemoryNote(failed, "x\nMemoryError\n", Terms()),
            "polybox: the error output says \"MemoryError\" (limits: memory 256MiB, address space "
            "1GiB; raise the first with --memory; a runtime can have a limit of its own)\n");
  Outcome aborted = Ending(End::kSignalled, 0);
  aborted.signal = SIGABRT;
  EXPECT_NE(MemoryNote(aborted, "FATAL ERROR: JavaScript heap out of memory\n", Terms()), "");
}

TEST(MemoryNote, NothingIsSaidOfOtherEnds) {
  Outcome failed = Ending(End::kExited, 0);
  failed.exit_code = 1;
  EXPECT_EQ(MemoryNote(failed, "NoMemoryErrors here\n", Terms()), "");
  EXPECT_EQ(MemoryNote(Ending(End::kExited, 0), "x\nMemoryError\n", Terms()), "")
      << "the program caught it";
  EXPECT_EQ(MemoryNote(Ending(End::kTimedOut, 0), "x\nMemoryError\n", Terms()), "");
}

TEST(MemoryNote, TheNoteIsOnALineOfItsOwnAndWordsAreFoundAcrossParts) {
  ErrorEnd end;
  EXPECT_EQ(end.Note(Ending(End::kExited, 0), Terms()), "");
  end.Add(std::string(100000, 'x') + "\nMemory");
  end.Add("Error");
  Outcome failed = Ending(End::kExited, 0);
  failed.exit_code = 1;
  const std::string note = end.Note(failed, Terms());
  EXPECT_TRUE(note.starts_with("\npolybox: the error output says")) << note;
  end.Add("\n");
  EXPECT_TRUE(end.Note(failed, Terms()).starts_with("polybox: "));
}

}  // namespace
}  // namespace polybox::exec
