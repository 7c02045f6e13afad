// pytest's JUnit report. With `-o junit_family=xunit1` it has the file of each test, and the ids
// are the node ids that pytest takes as arguments.
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "verify/collect.h"
#include "verify/failure_text.h"
#include "verify/parsers/all.h"
#include "verify/parsers/junit.h"
#include "verify/parsers/to_report.h"
#include "verify/text.h"

namespace polybox::verify {
namespace {

/// Returns "tests.test_a" for "tests/test_a.py".
std::string ModuleOf(std::string_view file) {
  std::string module(file.substr(0, file.rfind(".py")));
  for (char& c : module) c = c == '/' ? '.' : c;
  return module;
}

/// Returns "TestA::TestInner::test_x": the part of the node id behind the file.
std::string NameWithin(const JunitCase& test, std::string_view file) {
  const std::string module = ModuleOf(file);
  std::string_view classes = test.class_name;
  if (!classes.starts_with(module)) return test.name;
  classes.remove_prefix(module.size());
  std::string name;
  for (; !classes.empty();) {
    classes.remove_prefix(1);  // the dot
    const std::string_view part = classes.substr(0, classes.find('.'));
    name += fmt::format("{}::", part);
    classes.remove_prefix(part.size());
  }
  return name + test.name;
}

/// pytest ends a trace with "tests/test_a.py:16: AssertionError". Returns the last such place.
Location LastPlace(std::string_view trace, std::string_view root) {
  Location last;
  std::string_view line;
  while (TakeLine(trace, line)) {
    if (line.empty() || line[0] == ' ' || line[0] == '>' || line[0] == 'E') continue;
    const Location found = FindLocation(line, root, "");
    if (found.line != 0 && line.find(found.file) != std::string_view::npos) last = found;
  }
  return last;
}

/// Returns the lines that pytest marks as the error: "E   SyntaxError: invalid syntax".
std::string ErrorLines(std::string_view trace) {
  std::string error;
  std::string_view rest = trace;
  std::string_view line;
  while (TakeLine(rest, line)) {
    if (line.starts_with("E ")) error += fmt::format("{}\n", Trim(line.substr(2)));
  }
  return error.empty() ? std::string(trace) : error;
}

void Fail(const JunitCase& test, const ParserInput& input, TestCollector& tests) {
  const Location place = LastPlace(test.text, input.root);
  // A test file that cannot be imported is a case without class; its name is the module.
  const bool is_file = test.class_name.empty();
  const std::string name = is_file ? "" : NameWithin(test, test.file);
  const bool has_file = !test.file.empty();
  tests.Failed({.suite = has_file ? test.file : test.class_name,
                .name = is_file && !has_file ? test.name : name,
                .errored = test.outcome == JunitOutcome::kErrored,
                .file = place.line != 0 ? std::string_view(place.file) : test.file,
                // pytest counts the lines of definitions from 0.
                .line = place.line != 0 ? place.line : (has_file && !is_file ? test.line + 1 : 0),
                .message = is_file ? ErrorLines(test.text) : test.message,
                .output = test.output.empty() ? test.text : test.text + "\n" + test.output});
}

}  // namespace

Report ParsePytestJunit(const ParserInput& input) {
  TestCollector tests(input.root, "::");
  const Status read =
      ReadJunit(ReportText(input), "pytest's JUnit XML", [&](const JunitCase& test) {
        switch (test.outcome) {
          case JunitOutcome::kPassed:
            return tests.Passed(test.file.empty() ? test.class_name : test.file,
                                NameWithin(test, test.file));
          case JunitOutcome::kSkipped:
            return tests.Skipped();
          case JunitOutcome::kFailed:
          case JunitOutcome::kErrored:
            return Fail(test, input, tests);
        }
      });
  if (!read.ok()) return Unreadable{read.error().message()};
  return tests.Take();
}

}  // namespace polybox::verify
