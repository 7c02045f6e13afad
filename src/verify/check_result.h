// The result of a check of one project in one language, as agents and people get it: as data with
// Members(), and as text. Plain data; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "json/bind.h"
#include "verify/report.h"
#include "verify/verdict.h"

namespace polybox::verify {

struct Counts {
  std::int64_t passed = 0;
  std::int64_t failed = 0;
  std::int64_t errored = 0;
  std::int64_t skipped = 0;

  static constexpr auto Members() {
    return std::tuple(
        json::Required("passed", &Counts::passed), json::Required("failed", &Counts::failed),
        json::Required("errored", &Counts::errored), json::Required("skipped", &Counts::skipped));
  }
};

/// How much of a file ran.
struct FileCoverage {
  std::string file = {};
  std::int64_t lines = 0;
  std::int64_t covered = 0;

  static constexpr auto Members() {
    return std::tuple(json::Required("file", &FileCoverage::file),
                      json::Required("lines", &FileCoverage::lines),
                      json::Required("covered", &FileCoverage::covered));
  }
};

struct CheckResult {
  std::string language = {};
  std::string check = {};
  /// The project, relative to the workspace; "" for the root.
  std::string project = {};
  Verdict verdict = Verdict::kUnreadable;
  std::string reason = {};
  std::string command = {};
  std::optional<std::int64_t> exit_code = {};
  double seconds = 0;
  /// Absent when no test ran.
  std::optional<Counts> tests = {};
  std::vector<TestFailure> failures = {};
  std::vector<Finding> build_errors = {};
  /// Absent when nobody knows how many there are.
  std::optional<std::int64_t> findings_count = {};
  std::vector<Finding> findings = {};
  std::vector<UnformattedFile> unformatted = {};
  std::vector<FileCoverage> coverage = {};
  /// How many entries of the lists above were left out.
  std::int64_t left_out = 0;
  /// The end of what the command wrote, if the verdict does not follow from the lists.
  std::string log = {};
  /// Reads the whole output.
  std::optional<std::string> shell_id = {};

  // Not part of the data.
  /// The time limit of the run in seconds.
  double timeout = 0;
  std::vector<std::string> missing = {};
  std::vector<std::string> passed_ids = {};

  static constexpr auto Members() {
    return std::tuple(json::Required("language", &CheckResult::language),
                      json::Required("check", &CheckResult::check),
                      json::Required("project", &CheckResult::project),
                      json::Required("verdict", &CheckResult::verdict),
                      json::Required("reason", &CheckResult::reason),
                      json::Required("command", &CheckResult::command),
                      json::Optional("exit_code", &CheckResult::exit_code),
                      json::Required("seconds", &CheckResult::seconds),
                      json::Optional("tests", &CheckResult::tests),
                      json::Required("failures", &CheckResult::failures),
                      json::Required("build_errors", &CheckResult::build_errors),
                      json::Optional("findings_count", &CheckResult::findings_count),
                      json::Required("findings", &CheckResult::findings),
                      json::Required("unformatted", &CheckResult::unformatted),
                      json::Required("coverage", &CheckResult::coverage),
                      json::Required("left_out", &CheckResult::left_out),
                      json::Required("log", &CheckResult::log),
                      json::Optional("shell_id", &CheckResult::shell_id));
  }
};

/// Puts what a report says into the result.
void AddReport(Report report, CheckResult& result);

/// Returns the verdict over several results: green only if all are, otherwise that of the first
/// which is not.
Verdict VerdictOf(const std::vector<CheckResult>& results);

/// Keeps at most `most` entries of each list, with texts of at most `characters` characters, and
/// counts the others.
struct ShownLimits {
  std::size_t entries = 50;
  std::size_t characters = 2000;
};
void Shorten(CheckResult& result, const ShownLimits& limits);

/// Returns the text about the result. Its last line is "exit: N" if the command exited.
std::string TextOf(const CheckResult& result);

}  // namespace polybox::verify
