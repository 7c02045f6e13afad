// The JUnit report of `node --test`. Suites are calls of describe(); a test with subtests is a
// suite too.
#include <string>

#include <fmt/format.h>

#include "verify/collect.h"
#include "verify/parsers/all.h"
#include "verify/parsers/junit.h"
#include "verify/parsers/to_report.h"
#include "verify/text.h"

namespace polybox::verify {
namespace {

/// Returns the name of a suite. Node 20 escapes quotes twice.
std::string SuiteName(std::string_view name) {
  constexpr std::string_view kQuote = "&quot;";
  std::string unescaped;
  while (const auto part = TakeUntil(name, kQuote)) unescaped += std::string(*part) + "\"";
  return unescaped + std::string(name);
}

/// The name as --test-name-pattern compares it: with the names of the suites around, and spaces
/// between them.
std::string FullName(const JunitCase& test) {
  std::string name;
  for (const std::string& suite : test.suites) name += SuiteName(suite) + " ";
  return name + test.name;
}

/// The values of an assertion, which node writes as members of the error: "  expected: 4,".
std::string Member(std::string_view text, std::string_view name) {
  const std::string begin = fmt::format("{}: ", name);
  std::string_view line;
  while (TakeLine(text, line)) {
    line = Trim(line);
    if (!line.starts_with(begin)) continue;
    line.remove_prefix(begin.size());
    if (line.ends_with(',')) line.remove_suffix(1);
    return std::string(line);
  }
  return "";
}

void Fail(const JunitCase& test, std::string_view root, TestCollector& tests) {
  // A file that could not be loaded is a test with the path as its name.
  const std::string path = RelativePath(test.name, root);
  const bool is_file = path != test.name;
  const std::string expected = Member(test.text, "expected");
  const std::string actual = Member(test.text, "actual");
  const bool is_assertion = test.text.find("ERR_ASSERTION") != std::string::npos;
  tests.Failed({.suite = is_file ? path : RelativePath(test.file, root),
                .name = is_file ? "" : FullName(test),
                .errored = !is_assertion,
                .file = is_file ? path : test.file,
                .message = test.message,
                .expected = expected,
                .actual = actual,
                .output = test.text});
}

}  // namespace

Report ParseNodeTestJunit(const ParserInput& input) {
  TestCollector tests(input.root, " > ");
  const Status read = ReadJunit(ReportText(input), "node's JUnit XML", [&](const JunitCase& test) {
    switch (test.outcome) {
      case JunitOutcome::kPassed:
        return tests.Passed(RelativePath(test.file, input.root), FullName(test));
      case JunitOutcome::kSkipped:
        return tests.Skipped();
      case JunitOutcome::kFailed:
      case JunitOutcome::kErrored:
        return Fail(test, input.root, tests);
    }
  });
  if (!read.ok()) return Unreadable{read.error().message()};
  return tests.Take();
}

}  // namespace polybox::verify
