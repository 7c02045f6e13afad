// What polybox remembers of the last test run of each project and language, on disk: for reruns of
// failures and for questions about them. It outlives the server. Two projects never share an entry.
// Any thread; with two servers, the later run of a project counts.
//
//   CACHE/verify/HASH/LANGUAGE.json   HASH follows from the real path of the project
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/result.h"
#include "verify/check_result.h"
#include "verify/detector.h"

namespace polybox::verify {

/// The last run of the tests.
struct LastRun {
  std::string language = {};
  /// Seconds since 1970.
  std::int64_t time = 0;
  Verdict verdict = Verdict::kUnreadable;
  std::string reason = {};
  /// Absent when no test ran.
  std::optional<Counts> tests = {};
  std::vector<TestFailure> failures = {};
  std::vector<Finding> build_errors = {};

  static constexpr auto Members() {
    return std::tuple(
        json::Required("language", &LastRun::language), json::Required("time", &LastRun::time),
        json::Required("verdict", &LastRun::verdict), json::Required("reason", &LastRun::reason),
        json::Optional("tests", &LastRun::tests), json::Required("failures", &LastRun::failures),
        json::Required("build_errors", &LastRun::build_errors));
  }
};

class Memory {
 public:
  /// `cache_dir` is absolute; "" remembers nothing.
  explicit Memory(std::string cache_dir) : cache_dir_(std::move(cache_dir)) {}

  /// Remembers a run of all tests, or of those that match a filter.
  Status Remember(const Project& project, const CheckResult& result) const;
  /// Remembers a run of `asked` failures only: what was not run stays.
  Status RememberRerun(const Project& project, const LastRun& before,
                       const std::vector<TestFailure>& asked, const CheckResult& result) const;
  /// Returns the last run; nothing if there was none, or if it cannot be read.
  std::optional<LastRun> Recall(const Project& project, std::string_view language) const;

 private:
  std::string FileOf(const Project& project, std::string_view language) const;
  Status Write(const Project& project, const LastRun& run) const;

  std::string cache_dir_;
};

/// Returns the ids of `asked` that `result` does not have. Empty if the runner names no tests that
/// passed.
std::vector<std::string> NotRun(const std::vector<TestFailure>& asked, const CheckResult& result);

}  // namespace polybox::verify
