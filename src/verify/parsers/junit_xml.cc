// JUnit's XML in the forms of Maven's Surefire, CTest, PHPUnit, busted and others.
#include <algorithm>
#include <string>
#include <string_view>

#include <fmt/format.h>

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

/// Where a Java test failed: "shop/CartTest.java" and the line. The first frame of a stack is that
/// of the assertion, so the frame of the test's own class is taken.
struct JavaPlace {
  std::string file;
  std::int64_t line = 0;
};

/// Reads the frame "\tat shop.CartTest.wrong(CartTest.java:10)".
JavaPlace FindJavaPlace(const JunitCase& test) {
  const std::size_t at = test.text.find(fmt::format("at {}.", test.class_name));
  if (test.class_name.empty() || at == std::string::npos) return {};
  std::string_view rest = std::string_view(test.text).substr(at);
  rest = rest.substr(0, rest.find('\n'));
  if (!TakeUntil(rest, "(")) return {};
  const auto file = TakeUntil(rest, ":");
  if (!file || !file->ends_with(".java")) return {};
  std::string folder = test.class_name.substr(0, test.class_name.rfind('.') + 1);
  std::ranges::replace(folder, '.', '/');
  return {folder + std::string(*file), NumberOr0(rest.substr(0, rest.find(')')))};
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
  const JavaPlace java = FindJavaPlace(test);
  // An error that belongs to no test, such as a file that could not be loaded.
  const bool is_stray = test.name.empty() && test.class_name.empty();
  tests.Failed({.suite = SuiteOf(test),
                .name = is_stray ? "outside of the tests" : test.name,
                .errored = missing || test.outcome == JunitOutcome::kErrored,
                .file = java.line != 0 ? java.file : test.file,
                .line = java.line != 0 ? java.line : test.line,
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
