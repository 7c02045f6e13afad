#include "verify/memory.h"

#include <algorithm>
#include <chrono>

#include "json/cache_file.h"
#include "store/digest.h"

namespace polybox::verify {
namespace {

constexpr std::int64_t kFormat = 1;
constexpr const char* kKey = "last";
/// Entries that are kept of each list. More failures than this have one cause.
constexpr std::size_t kMostRemembered = 500;
constexpr std::size_t kMostCharacters = 10'000;

std::int64_t Now() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

bool Has(const std::vector<TestFailure>& failures, const std::string& id) {
  return std::ranges::find(failures, id, &TestFailure::id) != failures.end();
}

LastRun RunOf(CheckResult result) {
  Shorten(result, {.entries = kMostRemembered, .characters = kMostCharacters});
  return {.language = std::move(result.language),
          .time = Now(),
          .verdict = result.verdict,
          .reason = std::move(result.reason),
          .tests = result.tests,
          .failures = std::move(result.failures),
          .build_errors = std::move(result.build_errors)};
}

}  // namespace

std::string Memory::FileOf(const Project& project, std::string_view language) const {
  return cache_dir_ + "/verify/" + store::Sha256(project.directory()) + "/" +
         std::string(language) + ".json";
}

Status Memory::Write(const Project& project, const LastRun& run) const {
  if (cache_dir_.empty()) return {};
  return json::WriteCacheFile<LastRun>(FileOf(project, run.language), kFormat, {{kKey, run}})
      .In("remember the test run");
}

Status Memory::Remember(const Project& project, const CheckResult& result) const {
  return Write(project, RunOf(result));
}

Status Memory::RememberRerun(const Project& project, const LastRun& before,
                             const std::vector<TestFailure>& asked,
                             const CheckResult& result) const {
  // Another verdict says nothing about the failures.
  if (result.verdict != Verdict::kPassed && result.verdict != Verdict::kFailed) return {};
  const std::vector<std::string> not_run = NotRun(asked, result);
  LastRun run = RunOf(result);
  for (const TestFailure& failure : before.failures) {
    const bool was_run =
        Has(asked, failure.id) && std::ranges::find(not_run, failure.id) == not_run.end();
    if (!was_run && !Has(run.failures, failure.id)) run.failures.push_back(failure);
  }
  if (!run.failures.empty()) run.verdict = Verdict::kFailed;
  return Write(project, run);
}

std::optional<LastRun> Memory::Recall(const Project& project, std::string_view language) const {
  if (cache_dir_.empty()) return {};
  auto entries = json::ReadCacheFile<LastRun>(FileOf(project, language), kFormat);
  const auto found = entries.find(kKey);
  if (found == entries.end()) return {};
  return std::move(found->second);
}

std::vector<std::string> NotRun(const std::vector<TestFailure>& asked, const CheckResult& result) {
  std::vector<std::string> not_run;
  const bool names_passed =
      !result.tests || result.tests->passed == 0 || !result.passed_ids.empty();
  if (!names_passed) return not_run;
  for (const TestFailure& failure : asked) {
    const bool passed = std::ranges::find(result.passed_ids, failure.id) != result.passed_ids.end();
    if (!passed && !Has(result.failures, failure.id)) not_run.push_back(failure.id);
  }
  return not_run;
}

}  // namespace polybox::verify
