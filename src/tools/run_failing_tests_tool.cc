// run_failing_tests: runs the tests again that failed the last time, by the runner's own selector.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/tool.h"
#include "tools/verify_call.h"

namespace polybox::tools {
namespace {

using verify::LastRun;
using verify::TestFailure;

constexpr std::int64_t kDefaultLimit = 50;
constexpr std::int64_t kMostLimit = 200;

struct RerunArguments : ProjectArguments {
  std::int64_t limit = kDefaultLimit;

  static constexpr auto Members() {
    return std::tuple_cat(
        ProjectArguments::Members(),
        std::tuple(json::Optional("limit", &RerunArguments::limit).Min(1).Max(kMostLimit)));
  }
};

/// Returns what there is to say instead of a rerun; "" if there are failures.
std::string NothingToRerun(const std::optional<LastRun>& last) {
  if (!last) return "no run_tests call yet in this session";
  if (!last->failures.empty()) return "";
  if (last->verdict == verify::Verdict::kPassed) {
    return fmt::format("last run_tests had no failures — nothing to rerun ({})", last->language);
  }
  return fmt::format("last run_tests named no failed test ({}, {}): call run_tests", last->language,
                     verify::VerdictName(last->verdict));
}

/// Fails if the runner found none of the tests. `result` is that of the rerun.
Status CheckSelected(const verify::CheckResult& result, const std::vector<TestFailure>& asked) {
  const bool nothing = result.verdict == verify::Verdict::kNothingRan ||
                       verify::NotRun(asked, result).size() == asked.size();
  const bool answered = result.verdict == verify::Verdict::kPassed ||
                        result.verdict == verify::Verdict::kFailed ||
                        result.verdict == verify::Verdict::kNothingRan;
  if (!nothing || !answered) return {};
  return Error(ErrorKind::kNotFound,
               fmt::format("run_failing_tests: the runner found none of the {} failed test(s): {}",
                           asked.size(), asked.front().id))
      .WithFix("They may have been renamed or removed: call run_tests");
}

Result<CheckAnswer> Rerun(const VerifyCall& call, const LastRun& last,
                          const std::vector<TestFailure>& asked) {
  verify::CheckRequest request = call.Request(verify::Check::kTest);
  request.language = last.language;
  for (const TestFailure& failure : asked) {
    // Not a test: the set-up of a suite. Only a run of all tests repeats it.
    if (failure.test.name.empty()) {
      request.options.tests.clear();
      request.options.ids.clear();
      break;
    }
    request.options.tests.push_back(failure.test);
    request.options.ids.push_back(failure.id);
  }
  POLYBOX_ASSIGN_OR_RETURN(std::vector<verify::CheckResult> results,
                           call.verification().Run(call.ground(), call.project(), request));
  POLYBOX_RETURN_IF_ERROR(call.RefuseMissing(results));
  const verify::CheckResult& result = results.front();
  POLYBOX_RETURN_IF_ERROR(CheckSelected(result, asked));
  POLYBOX_RETURN_IF_ERROR(
      call.verification().memory().RememberRerun(call.project(), last, asked, result));
  const std::vector<std::string> not_run = verify::NotRun(asked, result);
  CheckAnswer answer = call.Answer(std::move(results));
  if (!not_run.empty()) {
    answer.first_lines.push_back(
        fmt::format("the runner did not find: {}", fmt::join(not_run, ", ")));
    answer.notes.push_back(answer.first_lines.back());
  }
  return answer;
}

Result<CheckAnswer> RunFailing(const Context& context, const RerunArguments& arguments) {
  POLYBOX_ASSIGN_OR_RETURN(const VerifyCall call,
                           VerifyCall::Begin(context, "run_failing_tests", arguments));
  POLYBOX_ASSIGN_OR_RETURN(const verify::Detector* detector, call.OnlyDetector());
  const std::optional<LastRun> last =
      call.verification().memory().Recall(call.project(), detector->Language());
  if (const std::string instead = NothingToRerun(last); !instead.empty()) {
    CheckAnswer answer = {.verdict = verify::Verdict::kNothingRan};
    answer.first_lines = answer.notes = {instead};
    return answer;
  }
  std::vector<TestFailure> asked = last->failures;
  asked.resize(std::min(asked.size(), static_cast<std::size_t>(arguments.limit)));
  return Rerun(call, *last, asked);
}

}  // namespace

Tool RunFailingTestsTool() {
  return MakeTool<RerunArguments, CheckAnswer>(
      {.name = "run_failing_tests",
       .title = "Run failed tests again",
       .description = "Runs the tests that failed in the last run_tests of the project.",
       .group = "verify",
       .annotations =
           {.read_only = false, .destructive = true, .idempotent = false, .open_world = true},
       .needs = Needs::kCommands},
      RunFailing);
}

}  // namespace polybox::tools
