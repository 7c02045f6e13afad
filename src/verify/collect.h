// Builds reports: bounds what they hold, makes paths relative, and completes failures. Parsers add
// what they read and never build a report by hand. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "verify/report.h"

namespace polybox::verify {

/// The most findings that a report keeps; more are counted. Nobody reads more, and each needs about
/// a kilobyte.
inline constexpr std::size_t kMostFindings = 20'000;
/// The most failures that a report keeps; the counts include the rest.
inline constexpr std::size_t kMostFailures = 5'000;
/// The most ids of passed tests that a report keeps.
inline constexpr std::size_t kMostPassedIds = 200'000;
/// The most bytes of texts that a report keeps. Texts beyond become "".
inline constexpr std::size_t kMostText = 64 * 1024 * 1024;

/// A finding as a tool wrote it.
struct RawFinding {
  std::string_view file = {};
  Range range = {};
  Severity severity = Severity::kError;
  std::string_view rule = {};
  std::string_view message = {};
  std::string_view fix = {};
};

class FindingCollector {
 public:
  /// `root` is that of the ParserInput; it must outlive the collector.
  explicit FindingCollector(std::string_view root) : root_(root) {}

  void Add(const RawFinding& raw);
  /// Appends lines to the message of the finding that was added last.
  void Continue(std::string_view lines);
  /// Counts findings that the tool did not show.
  void Omit(std::int64_t count) { report_.omitted += count; }
  bool empty() const { return report_.findings.empty(); }
  std::int64_t count() const;
  FindingReport Take() { return std::move(report_); }

 private:
  std::string_view root_;
  FindingReport report_;
  std::size_t text_ = 0;
  bool last_was_kept_ = false;
};

/// A failure as a tool wrote it. Fields that are "" are completed from `message` and `output`.
struct RawFailure {
  std::string_view suite = {};
  std::string_view name = {};
  bool errored = false;
  std::string_view file = {};
  std::int64_t line = 0;
  std::string_view message = {};
  std::string_view expected = {};
  std::string_view actual = {};
  std::string_view output = {};
};

class TestCollector {
 public:
  /// `joint` is what the users of the runner write between suite and name in an id.
  TestCollector(std::string_view root, std::string_view joint) : root_(root), joint_(joint) {}

  void Passed(std::string_view suite, std::string_view name);
  void Skipped() { ++report_.skipped; }
  /// Counts tests of which the tool told only the number.
  void Count(std::int64_t passed, std::int64_t skipped);
  void Failed(const RawFailure& raw);
  void BuildError(const RawFinding& raw);
  /// Returns the number of build errors so far.
  std::int64_t build_errors() const { return build_errors_.count(); }
  const TestReport& report() const { return report_; }
  std::int64_t passed() const { return report_.passed; }
  /// Returns whether nothing failed so far.
  bool is_clean() const { return report_.failed == 0 && report_.errored == 0; }
  /// Returns the number of tests so far.
  std::int64_t total() const;
  TestReport Take();

 private:
  std::string IdOf(std::string_view suite, std::string_view name) const;
  void Locate(const RawFailure& raw, TestFailure& failure) const;
  void KeepTexts(const RawFailure& raw, TestFailure& failure);

  std::string_view root_;
  std::string_view joint_;
  TestReport report_;
  FindingCollector build_errors_{""};
  /// How many kept failures have an id. The second one with the same id gets the number 2.
  std::unordered_map<std::string, int> ids_;
  std::size_t text_ = 0;
};

}  // namespace polybox::verify
