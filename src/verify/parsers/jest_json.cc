// `jest --json` and `vitest --reporter=json`. A file that could not be loaded has no tests but a
// message.
#include <string>

#include <fmt/format.h>

#include "json/write.h"
#include "verify/collect.h"
#include "verify/json_text.h"
#include "verify/parsers/all.h"
#include "verify/parsers/to_report.h"
#include "verify/text.h"

namespace polybox::verify {
namespace {

constexpr std::string_view kWhat = "the JSON of jest";

std::string NameOf(const json::Object& test) {
  std::string name;
  for (const json::Value& title : ItemsIn(test, "ancestorTitles")) {
    if (title.is_string()) name += fmt::format("{} ", std::string_view(title.get_string()));
  }
  return name + std::string(TextIn(test, "title"));
}

/// Returns the message of an error without its stack.
std::string_view WithoutStack(std::string_view message) {
  return message.substr(0, message.find("\n    at "));
}

/// Returns the text of a member that can be of any type.
std::string ValueText(const json::Object& object, std::string_view name) {
  const json::Value* value = object.if_contains(name);
  if (value == nullptr) return "";
  return value->is_string() ? std::string(value->get_string()) : json::Write(*value);
}

void Fail(const json::Object& test, std::string_view file, TestCollector& tests) {
  const json::Array& messages = ItemsIn(test, "failureMessages");
  std::string_view message;
  if (!messages.empty() && messages.front().is_string()) message = messages.front().get_string();
  std::string expected;
  std::string actual;
  const json::Array& details = ItemsIn(test, "failureDetails");
  if (!details.empty() && details.front().is_object()) {
    if (const json::Object* match = ObjectIn(details.front().get_object(), "matcherResult")) {
      expected = ValueText(*match, "expected");
      actual = ValueText(*match, "actual");
    }
  }
  // An assertion's error is an Error of jest, or an AssertionError; its text tells which.
  const bool asserted = !expected.empty() || message.starts_with("AssertionError") ||
                        message.find("expect(") != std::string_view::npos;
  tests.Failed({.suite = file,
                .name = NameOf(test),
                .errored = !asserted,
                .file = file,
                .message = WithoutStack(message),
                .expected = expected,
                .actual = actual,
                .output = message});
}

Status AddFile(const json::Object& file, const ParserInput& input, TestCollector& tests) {
  POLYBOX_ASSIGN_OR_RETURN(const json::Array* results, NeedArray(file, "assertionResults", kWhat));
  const std::string name = RelativePath(TextIn(file, "name"), input.root);
  bool failed = false;
  for (const json::Value& row : *results) {
    POLYBOX_ASSIGN_OR_RETURN(const json::Object* test, AsObject(row, kWhat));
    const std::string_view status = TextIn(*test, "status");
    failed |= status == "failed";
    if (status == "passed") {
      tests.Passed(name, NameOf(*test));
    } else if (status == "failed") {
      Fail(*test, name, tests);
    } else {
      tests.Skipped();  // skipped, pending, todo, disabled, focused
    }
  }
  // A file without a failed test can fail when it is loaded, or by a hook.
  if (TextIn(file, "status") == "failed" && !failed) {
    const std::string_view message = TextIn(file, "message");
    tests.Failed({.suite = name,
                  .errored = true,
                  .file = name,
                  .message = message.empty() ? "the test file failed" : WithoutStack(message),
                  .output = message});
  }
  return {};
}

Result<TestReport> Read(const ParserInput& input) {
  POLYBOX_ASSIGN_OR_RETURN(const json::Value document, ReadDocument(ReportText(input), kWhat));
  POLYBOX_ASSIGN_OR_RETURN(const json::Object* report, AsObject(document, kWhat));
  POLYBOX_ASSIGN_OR_RETURN(const json::Array* files, NeedArray(*report, "testResults", kWhat));
  TestCollector tests(input.root, " > ");
  for (const json::Value& row : *files) {
    POLYBOX_ASSIGN_OR_RETURN(const json::Object* file, AsObject(row, kWhat));
    POLYBOX_RETURN_IF_ERROR(AddFile(*file, input, tests));
  }
  const std::int64_t passed = tests.passed();
  if (NumberIn(*report, "numPassedTests") != passed) {
    return NotThis(kWhat, "it counts other passed tests than it shows");
  }
  // Such as an error outside of all files, or a coverage threshold.
  if (!TrueIn(*report, "success") && tests.is_clean()) {
    return NotThis(kWhat, "the run failed, but no test did");
  }
  return tests.Take();
}

}  // namespace

Report ParseJestJson(const ParserInput& input) {
  return ToReport(Read(input));
}

}  // namespace polybox::verify
