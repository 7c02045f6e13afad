// JUnit's XML in the forms of Maven's Surefire, CTest, PHPUnit, busted and others.
#include <string>
#include <string_view>

#include "verify/collect.h"
#include "verify/parsers/all.h"
#include "verify/parsers/compiler_lines.h"
#include "verify/parsers/junit.h"
#include "verify/parsers/to_report.h"
#include "verify/text.h"

namespace polybox::verify {
namespace {

/// CTest gives a case its own name as class; such a case has no suite.
std::string_view SuiteOf(const JunitCase& test) {
  if (test.class_name == test.name) return {};
  return test.class_name;
}

/// CTest writes a test whose program is missing as skipped, but counts it as failed.
bool IsMissingProgram(const JunitCase& test) {
  return test.outcome == JunitOutcome::kSkipped && test.status == "notrun" &&
         test.message.find("SKIP_") == std::string::npos;
}

/// PHPUnit repeats the name of the test on the first line of the text.
std::string_view WithoutName(const JunitCase& test) {
  std::string_view text = test.text;
  std::string_view line;
  std::string_view rest = text;
  const bool repeats = TakeLine(rest, line) && line.starts_with(test.class_name + "::");
  return repeats ? rest : text;
}

void Take(const JunitCase& test, TestCollector& tests) {
  const bool missing = IsMissingProgram(test);
  if (test.outcome == JunitOutcome::kPassed) return tests.Passed(SuiteOf(test), test.name);
  if (test.outcome == JunitOutcome::kSkipped && !missing) return tests.Skipped();
  std::string output(WithoutName(test));
  if (!test.output.empty()) output += (output.empty() ? "" : "\n") + test.output;
  // CTest's message of each failure is "Failed".
  std::string_view message = test.message;
  if (message.empty() || message == "Failed") message = output;
  if (Trim(message).empty()) message = test.type;
  if (message.empty()) message = "the test failed without a message";
  // An error that belongs to no test, such as a file that could not be loaded.
  const bool is_stray = test.name.empty() && test.class_name.empty();
  tests.Failed({.suite = SuiteOf(test),
                .name = is_stray ? "outside of the tests" : test.name,
                .errored = missing || test.outcome == JunitOutcome::kErrored,
                .file = test.file,
                .line = test.line,
                .message = message,
                .output = output});
}

}  // namespace

Report ParseJunitXml(const ParserInput& input) {
  TestCollector tests(input.root, ".");
  const Status read =
      ReadJunit(ReportText(input), "JUnit XML", [&](const JunitCase& test) { Take(test, tests); });
  if (!read.ok()) return Unreadable{read.error().message()};
  // A build tool that cannot compile the tests writes a report without cases, or none at all.
  if (tests.total() == 0 && input.exit_code != 0) AddBuildErrors(input.err, tests);
  return tests.Take();
}

}  // namespace polybox::verify
