// The verdict over a run of a check: a value that says whether the code is good, and if not, why
// nobody knows. A run is green only if the tool ran to its end, said so by its exit code, and its
// report agrees. Pure functions; any thread.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jail/outcome.h"
#include "verify/detector.h"

namespace polybox::verify {

enum class Verdict {
  kPassed,
  kFailed,
  kBuildFailed,  ///< The tests, or some of them, could not be built.
  kCrashed,      ///< The tool was killed, or failed itself.
  kTimedOut,
  kNothingRan,  ///< No test was run, or there was nothing to look at.
  kUnreadable,  ///< The tool ran, but what it found is not known.
  kToolMissing,
};

constexpr std::array<std::pair<Verdict, std::string_view>, 8> NamesOf(Verdict /*verdict*/) {
  return {{{Verdict::kPassed, "passed"},
           {Verdict::kFailed, "failed"},
           {Verdict::kBuildFailed, "build_failed"},
           {Verdict::kCrashed, "crashed"},
           {Verdict::kTimedOut, "timed_out"},
           {Verdict::kNothingRan, "nothing_ran"},
           {Verdict::kUnreadable, "unreadable"},
           {Verdict::kToolMissing, "tool_missing"}}};
}
std::string_view VerdictName(Verdict verdict);

/// What is known about a run that has ended.
struct Evidence {
  jail::Outcome outcome = {};
  /// What the exit code means, if the tool exited.
  ExitMeaning meaning = ExitMeaning::kOk;
  /// What the parser made of the output.
  Report report = Unreadable{"no parser reads this output"};
  /// The programs that are missing.
  std::vector<std::string> missing = {};
};

struct Judgement {
  Verdict verdict = Verdict::kUnreadable;
  /// Why the verdict is neither kPassed nor explained by the report; "" otherwise.
  std::string reason = {};
};

Judgement Judge(const Evidence& evidence);

/// Returns whether any test of the report ran, so that its counts say something.
bool HasRun(const TestReport& report);

}  // namespace polybox::verify
