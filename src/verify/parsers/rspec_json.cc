// `rspec --format json`. The ids are those that rspec takes as arguments: "./spec/a_spec.rb[1:2]".
#include <string>

#include "verify/collect.h"
#include "verify/json_text.h"
#include "verify/parsers/all.h"
#include "verify/parsers/to_report.h"
#include "verify/text.h"

namespace polybox::verify {
namespace {

constexpr std::string_view kWhat = "RSpec's JSON";

/// Returns the stack of the exception, a call per line.
std::string StackOf(const json::Object& exception) {
  std::string stack;
  for (const json::Value& line : ItemsIn(exception, "backtrace")) {
    if (!line.is_string() || stack.size() > kLongestOutput) continue;
    stack += std::string_view(line.get_string());
    stack += '\n';
  }
  return stack;
}

Status Fail(const json::Object& example, TestCollector& tests) {
  POLYBOX_ASSIGN_OR_RETURN(const json::Object* exception, NeedObject(example, "exception", kWhat));
  const std::string_view kind = TextIn(*exception, "class");
  const bool asserted = kind.starts_with("RSpec::") || kind.find("Assertion") != std::string::npos;
  tests.Failed({.suite = TextIn(example, "id"),
                .name = TextIn(example, "full_description"),
                .errored = !asserted,
                .file = TextIn(example, "file_path"),
                .line = 0,
                .message = TextIn(*exception, "message"),
                .output = StackOf(*exception)});
  return {};
}

Status AddExamples(const json::Array& examples, TestCollector& tests) {
  for (const json::Value& row : examples) {
    POLYBOX_ASSIGN_OR_RETURN(const json::Object* example, AsObject(row, kWhat));
    const std::string_view status = TextIn(*example, "status");
    if (status == "passed") {
      tests.Passed(TextIn(*example, "id"), TextIn(*example, "full_description"));
    } else if (status == "failed") {
      POLYBOX_RETURN_IF_ERROR(Fail(*example, tests));
    } else {
      tests.Skipped();
    }
  }
  return {};
}

Result<TestReport> Read(const ParserInput& input) {
  POLYBOX_ASSIGN_OR_RETURN(const json::Value document, ReadDocument(ReportText(input), kWhat));
  POLYBOX_ASSIGN_OR_RETURN(const json::Object* report, AsObject(document, kWhat));
  POLYBOX_ASSIGN_OR_RETURN(const json::Array* examples, NeedArray(*report, "examples", kWhat));
  POLYBOX_ASSIGN_OR_RETURN(const json::Object* summary, NeedObject(*report, "summary", kWhat));
  TestCollector tests(input.root, " ");
  POLYBOX_RETURN_IF_ERROR(AddExamples(*examples, tests));
  if (NumberIn(*summary, "example_count") != tests.total()) {
    return NotThis(kWhat, "it counts other examples than it shows");
  }
  // A file that could not be loaded, or a hook of the whole suite.
  if (NumberIn(*summary, "errors_outside_of_examples_count") > 0) {
    std::string text;
    for (const json::Value& message : ItemsIn(*report, "messages")) {
      if (message.is_string()) text += std::string_view(message.get_string());
    }
    tests.Failed({.name = "outside of the examples",
                  .errored = true,
                  .message = text.substr(0, text.find("\n# ")),
                  .output = text});
  }
  return tests.Take();
}

}  // namespace

Report ParseRspecJson(const ParserInput& input) {
  return ToReport(Read(input));
}

}  // namespace polybox::verify
