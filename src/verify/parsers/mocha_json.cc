// `mocha --reporter json`.
#include <string>

#include "verify/collect.h"
#include "verify/json_text.h"
#include "verify/parsers/all.h"
#include "verify/parsers/to_report.h"
#include "verify/text.h"

namespace polybox::verify {
namespace {

constexpr std::string_view kWhat = "mocha's JSON";

Status Fail(const json::Object& test, TestCollector& tests, std::string_view root) {
  POLYBOX_ASSIGN_OR_RETURN(const json::Object* error, NeedObject(test, "err", kWhat));
  const std::string file = RelativePath(TextIn(test, "file"), root);
  const std::string_view stack = TextIn(*error, "stack");
  const std::string_view code = TextIn(*error, "code");
  const bool asserted =
      code == "ERR_ASSERTION" || error->contains("expected") || stack.starts_with("AssertionError");
  tests.Failed({.suite = file,
                .name = TextIn(test, "fullTitle"),
                .errored = !asserted,
                .file = file,
                .message = TextIn(*error, "message"),
                .expected = TextIn(*error, "expected"),
                .actual = TextIn(*error, "actual"),
                .output = stack});
  return {};
}

Result<TestReport> Read(const ParserInput& input) {
  POLYBOX_ASSIGN_OR_RETURN(const json::Value document, ReadDocument(ReportText(input), kWhat));
  POLYBOX_ASSIGN_OR_RETURN(const json::Object* report, AsObject(document, kWhat));
  POLYBOX_ASSIGN_OR_RETURN(const json::Object* stats, NeedObject(*report, "stats", kWhat));
  POLYBOX_ASSIGN_OR_RETURN(const json::Array* passes, NeedArray(*report, "passes", kWhat));
  POLYBOX_ASSIGN_OR_RETURN(const json::Array* failures, NeedArray(*report, "failures", kWhat));
  TestCollector tests(input.root, " > ");
  for (const json::Value& row : *passes) {
    POLYBOX_ASSIGN_OR_RETURN(const json::Object* test, AsObject(row, kWhat));
    tests.Passed(RelativePath(TextIn(*test, "file"), input.root), TextIn(*test, "fullTitle"));
  }
  for (const json::Value& row : *failures) {
    POLYBOX_ASSIGN_OR_RETURN(const json::Object* test, AsObject(row, kWhat));
    POLYBOX_RETURN_IF_ERROR(Fail(*test, tests, input.root));
  }
  tests.Count(0, NumberIn(*stats, "pending"));
  const auto failed = static_cast<std::int64_t>(failures->size());
  if (NumberIn(*stats, "passes") != tests.passed() || NumberIn(*stats, "failures") != failed) {
    return NotThis(kWhat, "it counts other tests than it shows");
  }
  return tests.Take();
}

}  // namespace

Report ParseMochaJson(const ParserInput& input) {
  return ToReport(Read(input));
}

}  // namespace polybox::verify
