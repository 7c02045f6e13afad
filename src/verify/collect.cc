#include "verify/collect.h"

#include <utility>

#include <fmt/format.h>

#include "verify/failure_text.h"
#include "verify/text.h"

namespace polybox::verify {

void FindingCollector::Add(const RawFinding& raw) {
  last_was_kept_ = report_.findings.size() < kMostFindings;
  if (!last_was_kept_) {
    ++report_.omitted;
    return;
  }
  Finding finding;
  finding.file = RelativePath(raw.file, root_);
  finding.range = raw.range;
  finding.severity = raw.severity;
  finding.rule = KeptName(raw.rule);
  finding.message = Kept(raw.message, kLongestMessage);
  if (text_ < kMostText) finding.fix = Kept(raw.fix, kLongestMessage);
  text_ += finding.message.size() + finding.fix.size();
  report_.findings.push_back(std::move(finding));
}

void FindingCollector::Continue(std::string_view lines) {
  if (!last_was_kept_ || text_ >= kMostText) return;
  std::string& message = report_.findings.back().message;
  if (message.size() + lines.size() > kLongestMessage) return;
  message += '\n';
  message += Kept(lines, kLongestMessage);
  text_ += lines.size();
}

std::int64_t FindingCollector::count() const {
  return static_cast<std::int64_t>(report_.findings.size()) + report_.omitted;
}

std::string TestCollector::IdOf(std::string_view suite, std::string_view name) const {
  if (suite.empty()) return KeptName(name);
  if (name.empty()) return KeptName(suite);
  return KeptName(fmt::format("{}{}{}", suite, joint_, name));
}

void TestCollector::Passed(std::string_view suite, std::string_view name) {
  ++report_.passed;
  if (report_.passed_ids.size() >= kMostPassedIds || text_ >= kMostText) return;
  report_.passed_ids.push_back(IdOf(suite, name));
  text_ += report_.passed_ids.back().size();
}

void TestCollector::Count(std::int64_t passed, std::int64_t skipped) {
  report_.passed += passed;
  report_.skipped += skipped;
}

void TestCollector::Locate(const RawFailure& raw, TestFailure& failure) const {
  failure.file = RelativePath(raw.file, root_);
  failure.line = raw.line;
  if (!failure.file.empty() && failure.line > 0) return;
  for (const std::string_view text : {raw.message, raw.output}) {
    const Location found = FindLocation(text, root_, failure.file);
    if (found.line == 0) continue;
    failure.file = found.file;
    failure.line = found.line;
    return;
  }
}

void TestCollector::KeepTexts(const RawFailure& raw, TestFailure& failure) {
  failure.message = Kept(raw.message, kLongestMessage);
  if (text_ >= kMostText) return;
  failure.expected = Kept(raw.expected, kLongestMessage);
  failure.actual = Kept(raw.actual, kLongestMessage);
  failure.output = Kept(raw.output, kLongestOutput);
  if (failure.expected.empty() && failure.actual.empty()) {
    Comparison found = FindComparison(failure.message);
    if (!found.is_complete()) found = FindComparison(failure.output);
    failure.expected = std::move(found.expected);
    failure.actual = std::move(found.actual);
  }
  text_ += failure.message.size() + failure.output.size();
}

void TestCollector::Failed(const RawFailure& raw) {
  ++(raw.errored ? report_.errored : report_.failed);
  if (report_.failures.size() >= kMostFailures) return;
  TestFailure failure;
  failure.test = {KeptName(raw.suite), KeptName(raw.name)};
  failure.id = IdOf(raw.suite, raw.name);
  if (const int number = ++ids_[failure.id]; number > 1) {
    failure.id = fmt::format("{} #{}", failure.id, number);
  }
  failure.errored = raw.errored;
  Locate(raw, failure);
  KeepTexts(raw, failure);
  report_.failures.push_back(std::move(failure));
}

void TestCollector::BuildError(const RawFinding& raw) {
  RawFinding relative = raw;
  const std::string file = RelativePath(raw.file, root_);
  relative.file = file;
  build_errors_.Add(relative);
}

std::int64_t TestCollector::total() const {
  return report_.passed + report_.failed + report_.errored + report_.skipped;
}

TestReport TestCollector::Take() {
  report_.build_errors = build_errors_.Take().findings;
  return std::move(report_);
}

}  // namespace polybox::verify
