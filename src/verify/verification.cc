#include "verify/verification.h"

namespace polybox::verify {
namespace {

/// Returns the result for a language, among several, that does not have the check.
CheckResult NotChecked(const Detector& detector, const Project& project, Check check,
                       const Error& why) {
  return {.language = std::string(detector.Language()),
          .check = std::string(CheckName(check)),
          .project = project.path(),
          .verdict = Verdict::kNothingRan,
          .reason = why.message()};
}

}  // namespace

Result<const Detectors*> Verification::FindDetectors() {
  const std::lock_guard lock(mutex_);
  if (!registry_) registry_ = load_();
  if (!registry_->ok()) return registry_->error();
  if (!detectors_) detectors_ = std::make_unique<const Detectors>(registry_->value());
  return detectors_.get();
}

Result<std::vector<CheckResult>> Verification::Run(const Ground& ground, const Project& project,
                                                   const CheckRequest& request) {
  POLYBOX_ASSIGN_OR_RETURN(const Detectors* detectors, FindDetectors());
  POLYBOX_ASSIGN_OR_RETURN(
      const Chosen chosen,
      detectors->Choose(project, {.tool = request.tool, .language = request.language}));
  std::vector<CheckResult> results;
  for (const Detector* detector : chosen) {
    const Result<Plan> plan = detector->PlanFor(request.check, project, request.options);
    if (!plan.ok() && chosen.size() == 1) return Error(plan.error()).In(request.tool);
    if (!plan.ok()) {
      results.push_back(NotChecked(*detector, project, request.check, plan.error()));
      continue;
    }
    POLYBOX_ASSIGN_OR_RETURN(
        CheckResult result,
        RunCheck(ground, *detector, project, *plan, request.run).In(request.tool));
    if (request.check == Check::kTest && request.options.tests.empty()) {
      POLYBOX_RETURN_IF_ERROR(memory_.Remember(project, result));
    }
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace polybox::verify
