#include "exec/fallback_note.h"

#include <gtest/gtest.h>

namespace polybox::exec {
namespace {

StepReport EndedBy(jail::End end, std::string memory_note = "") {
  StepReport compile;
  compile.outcome.end = end;
  compile.limits.wall_time = std::chrono::seconds(30);
  compile.memory_note = std::move(memory_note);
  return compile;
}

TEST(FallbackNote, ALimitOrASignalThatEndedTheCompilerIsNamed) {
  EXPECT_EQ(FallbackNote("TypeScript", EndedBy(jail::End::kTimedOut)),
            "polybox: as TypeScript: compilation stopped: it ran longer than 30s\n");
  StepReport crashed = EndedBy(jail::End::kSignalled);
  crashed.outcome.signal = 11;
  EXPECT_EQ(FallbackNote("TypeScript", crashed),
            "polybox: as TypeScript: compilation ended by SIGSEGV\n");
  for (const char* before : {"", "\n"}) {
    const std::string note = std::string(before) + "polybox: compilation killed: out of memory\n";
    EXPECT_EQ(FallbackNote("TypeScript", EndedBy(jail::End::kOutOfMemory, note)),
              "polybox: as TypeScript: compilation killed: out of memory\n");
    EXPECT_NE(FallbackNote("TypeScript", EndedBy(jail::End::kExited, note)), "");
  }
}

TEST(FallbackNote, ACompilerThatRefusesTheProgramHasNone) {
  StepReport compile = EndedBy(jail::End::kExited);
  compile.outcome.exit_code = 2;
  EXPECT_EQ(FallbackNote("TypeScript", compile), "");
}

TEST(FallbackNote, TheLineFollowsTheErrorOutputEverywhere) {
  Report first;
  first.run.emplace();
  first.run->err = first.run->combined = "SyntaxError";
  Report second;
  second.compile = EndedBy(jail::End::kTimedOut);
  std::string streamed;
  Request request;
  request.wants_combined = true;
  request.on_output = [&](StepKind step, Stream stream, std::string_view text) {
    EXPECT_EQ(step, StepKind::kRun);
    EXPECT_EQ(stream, Stream::kErr);
    streamed += text;
  };
  NoteFallback("TypeScript", second, request, first);
  EXPECT_EQ(streamed, "\npolybox: as TypeScript: compilation stopped: it ran longer than 30s\n");
  EXPECT_EQ(first.run->err, "SyntaxError" + streamed);
  EXPECT_EQ(first.run->combined, "SyntaxError" + streamed);
}

}  // namespace
}  // namespace polybox::exec
