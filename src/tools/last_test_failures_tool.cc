// last_test_failures: what the last run of run_tests found, without running anything.
#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "tools/tool.h"
#include "tools/verify_call.h"

namespace polybox::tools {
namespace {

using verify::LastRun;
using verify::Verdict;

constexpr std::int64_t kDefaultLimit = 50;
constexpr std::int64_t kMostLimit = 500;

struct LastArguments : ProjectArguments {
  std::int64_t limit = kDefaultLimit;

  static constexpr auto Members() {
    return std::tuple_cat(
        ProjectArguments::Members(),
        std::tuple(json::Optional("limit", &LastArguments::limit).Min(1).Max(kMostLimit)));
  }
};

struct LastResult {
  /// Absent when there was no run.
  std::optional<LastRun> last = {};
  std::int64_t left_out = 0;

  /// Not part of the data: the whole text.
  std::string text = {};

  static constexpr auto Members() {
    return std::tuple(json::Optional("last", &LastResult::last),
                      json::Required("left_out", &LastResult::left_out));
  }
};

std::string Text(const LastResult& result) {
  return result.text;
}

/// Returns "just now", "5s", "3m20s" or "2h5m".
std::string Age(std::int64_t time) {
  const std::int64_t now = std::chrono::duration_cast<std::chrono::seconds>(
                               std::chrono::system_clock::now().time_since_epoch())
                               .count();
  const std::int64_t seconds = now - time;
  if (seconds < 1) return "just now";
  if (seconds < 60) return fmt::format("{}s ago", seconds);
  if (seconds < 3600) return fmt::format("{}m{}s ago", seconds / 60, seconds % 60);
  return fmt::format("{}h{}m ago", seconds / 3600, seconds / 60 % 60);
}

std::string FailureLines(std::size_t number, const verify::TestFailure& failure) {
  std::string text = fmt::format("\n{}. {}\n", number, failure.id);
  if (!failure.file.empty()) text += fmt::format("   {}:{}\n", failure.file, failure.line);
  if (!failure.message.empty()) text += fmt::format("   {}\n", failure.message);
  if (failure.expected.empty() && failure.actual.empty()) return text;
  return text + fmt::format("   --- diff ---\n   got: {}\n   want: {}\n", failure.actual,
                            failure.expected);
}

/// Returns the text about a run in which no test failed.
std::string WithoutFailures(const LastRun& run) {
  const std::string when = fmt::format("{}, {}", run.language, Age(run.time));
  if (run.verdict == Verdict::kPassed && run.tests) {
    return fmt::format("last run_tests had no failures ({} tests passed, {})\n", run.tests->passed,
                       when);
  }
  if (run.verdict == Verdict::kBuildFailed) {
    std::string text = fmt::format("last run_tests could not build the tests ({}):\n", when);
    for (const verify::Finding& error : run.build_errors) {
      text += fmt::format("{}:{}: {}\n", error.file, error.range.line, error.message);
    }
    return text;
  }
  return fmt::format("last run_tests has no results: {}{} ({})\n", verify::VerdictName(run.verdict),
                     run.reason.empty() ? "" : ", " + run.reason, when);
}

std::string TextOfRun(const LastRun& run, std::int64_t left_out) {
  if (run.failures.empty()) return WithoutFailures(run);
  const std::size_t all = run.failures.size() + static_cast<std::size_t>(left_out);
  std::string text = fmt::format("{} test failure(s) from last run_tests call ({}, {}):\n", all,
                                 run.language, Age(run.time));
  for (std::size_t i = 0; i < run.failures.size(); ++i) {
    text += FailureLines(i + 1, run.failures[i]);
  }
  if (left_out == 0) return text;
  return text +
         fmt::format("\n({} more entries truncated; pass a larger limit to see them)\n", left_out);
}

Result<LastResult> LastFailures(const Context& context, const LastArguments& arguments) {
  POLYBOX_ASSIGN_OR_RETURN(const VerifyCall call,
                           VerifyCall::Begin(context, "last_test_failures", arguments));
  POLYBOX_ASSIGN_OR_RETURN(const verify::Detector* detector, call.OnlyDetector());
  LastResult result;
  result.last = call.verification().memory().Recall(call.project(), detector->Language());
  if (!result.last) {
    result.text = "no run_tests call yet in this session\n";
    return result;
  }
  const auto limit = static_cast<std::size_t>(arguments.limit);
  std::vector<verify::TestFailure>& failures = result.last->failures;
  if (failures.size() > limit) {
    result.left_out = static_cast<std::int64_t>(failures.size() - limit);
    failures.resize(limit);
  }
  result.text = TextOfRun(*result.last, result.left_out);
  return result;
}

}  // namespace

Tool LastTestFailuresTool() {
  return MakeTool<LastArguments, LastResult>(
      {.name = "last_test_failures",
       .title = "Show the last test failures",
       .description = "What the last run_tests of the project found. Runs nothing.",
       .group = "verify",
       .annotations =
           {.read_only = true, .destructive = false, .idempotent = true, .open_world = false},
       .needs = Needs::kCommands},
      LastFailures);
}

}  // namespace polybox::tools
