#include "verify/verdict.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/overloaded.h"
#include "verify/command_text.h"

namespace polybox::verify {
namespace {

using jail::End;

/// Returns why the tool did not exit by itself.
std::string WhyKilled(const jail::Outcome& outcome) {
  if (outcome.end == End::kOutOfMemory) return "killed for want of memory";
  if (outcome.signal != 0) return "killed by " + jail::SignalName(outcome.signal);
  return fmt::format("ended by polybox: {}", jail::EndName(outcome.end));
}

std::string ExitedWith(const Evidence& evidence) {
  return fmt::format("the tool itself failed (exit {})", evidence.outcome.exit_code);
}

/// Judges a report that complains about something.
Judgement Complained(const Evidence& evidence, Verdict verdict) {
  if (evidence.meaning != ExitMeaning::kToolFailed) return {verdict};
  return {Verdict::kCrashed, ExitedWith(evidence) + "; what it found before is listed"};
}

/// Judges a report that complains about nothing.
Judgement SaidNothing(const Evidence& evidence) {
  switch (evidence.meaning) {
    case ExitMeaning::kOk:
      return {Verdict::kPassed};
    case ExitMeaning::kNothing:
      return {Verdict::kNothingRan, "the tool says that there was nothing to do"};
    case ExitMeaning::kFindings:
      return {Verdict::kUnreadable,
              fmt::format("exit {} means that the tool found something, but its report shows "
                          "nothing",
                          evidence.outcome.exit_code)};
    case ExitMeaning::kToolFailed:
      break;
  }
  return {Verdict::kCrashed, ExitedWith(evidence)};
}

Judgement JudgeTests(const Evidence& evidence, const TestReport& report) {
  if (!report.build_errors.empty()) return Complained(evidence, Verdict::kBuildFailed);
  if (report.failed + report.errored > 0 || !report.failures.empty()) {
    return Complained(evidence, Verdict::kFailed);
  }
  if (report.passed > 0) {
    if (evidence.meaning != ExitMeaning::kNothing) return SaidNothing(evidence);
    return {Verdict::kUnreadable, "the tool says that nothing ran, but its report has tests"};
  }
  Judgement judgement = SaidNothing(evidence);
  if (judgement.verdict != Verdict::kPassed) return judgement;
  return {Verdict::kNothingRan, report.skipped > 0
                                    ? fmt::format("all {} tests were skipped", report.skipped)
                                    : "no test was run"};
}

Judgement JudgeUnreadable(const Evidence& evidence, const Unreadable& report) {
  if (evidence.meaning == ExitMeaning::kNothing) return SaidNothing(evidence);
  if (evidence.outcome.exit_code == kMissingCode) {
    return {Verdict::kToolMissing, "a program that the command needs was not found (exit 127)"};
  }
  return {Verdict::kUnreadable, report.reason};
}

}  // namespace

std::string_view VerdictName(Verdict verdict) {
  for (const auto& [each, name] : NamesOf(verdict)) {
    if (each == verdict) return name;
  }
  return "";
}

bool HasRun(const TestReport& report) {
  return report.passed + report.failed + report.errored + report.skipped > 0;
}

Judgement Judge(const Evidence& evidence) {
  if (!evidence.missing.empty()) {
    return {Verdict::kToolMissing,
            fmt::format("{}: not found on PATH", fmt::join(evidence.missing, ", "))};
  }
  if (evidence.outcome.end == End::kTimedOut) return {Verdict::kTimedOut};
  if (evidence.outcome.end != End::kExited) {
    return {Verdict::kCrashed, WhyKilled(evidence.outcome)};
  }
  return std::visit(
      Overloaded{[&](const Unreadable& report) { return JudgeUnreadable(evidence, report); },
                 [&](const TestReport& report) { return JudgeTests(evidence, report); },
                 [&](const FindingReport& report) {
                   return report.findings.empty() ? SaidNothing(evidence)
                                                  : Complained(evidence, Verdict::kFailed);
                 },
                 [&](const FormatReport& report) {
                   return report.files.empty() ? SaidNothing(evidence)
                                               : Complained(evidence, Verdict::kFailed);
                 },
                 [&](const CoverageReport& report) {
                   if (!report.files.empty() && evidence.meaning == ExitMeaning::kFindings) {
                     return Judgement{Verdict::kFailed, "tests failed while coverage was measured"};
                   }
                   if (report.files.empty() && evidence.meaning == ExitMeaning::kOk) {
                     return Judgement{Verdict::kNothingRan, "the coverage report has no file"};
                   }
                   return SaidNothing(evidence);
                 }},
      evidence.report);
}

}  // namespace polybox::verify
