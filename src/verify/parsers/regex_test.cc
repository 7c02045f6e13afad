#include <string>

#include <gtest/gtest.h>

#include "verify/parser.h"

namespace polybox::verify {
namespace {

languages::Patterns ForFindings() {
  return {
      .finding =
          {R"((?P<severity>[A-Z]+) (?P<file>[^:]+):(?P<line>\d+) (?P<rule>\w+) (?P<message>.+))"},
      .complete = {R"((?P<findings>\d+) problems)"},
      .ignore = {"Checking .*"}};
}

languages::Patterns ForTests() {
  return {.failed = {R"(FAIL (?P<suite>\w+)/(?P<name>\w+): (?P<message>.*))"},
          .passed = {R"(PASS (?P<suite>\w+)/(?P<name>\w+))"},
          .skipped = {"SKIP .*"},
          .complete = {R"(END (?P<passed>\d+) (?P<failed>\d+))"}};
}

Report Parse(const languages::Patterns& patterns, std::string_view out, int exit_code) {
  return ReadReport(*FindParser("regex"),
                    {.out = out, .exit_code = exit_code, .patterns = &patterns});
}

std::string ReasonOf(const Report& report) {
  const auto* unreadable = std::get_if<Unreadable>(&report);
  return unreadable == nullptr ? "" : unreadable->reason;
}

TEST(RegexParser, ReadsFindingsByNamedGroups) {
  const Report report =
      Parse(ForFindings(), "Checking a\nW a.x:3 r1 odd\nE b.x:4 r2 wrong\n\n2 problems\n", 1);
  const auto* found = std::get_if<FindingReport>(&report);
  ASSERT_NE(found, nullptr) << ReasonOf(report);
  ASSERT_EQ(found->findings.size(), 2U);
  EXPECT_EQ(found->findings[0], (Finding{.file = "a.x",
                                         .range = {.line = 3},
                                         .severity = Severity::kWarning,
                                         .rule = "r1",
                                         .message = "odd"}));
  EXPECT_EQ(found->findings[1].severity, Severity::kError);
}

TEST(RegexParser, ReadsTestsByNamedGroups) {
  const Report report = Parse(ForTests(), "PASS a/x\nFAIL a/y: 1 is not 2\nSKIP a/z\nEND 1 1\n", 1);
  const auto* tests = std::get_if<TestReport>(&report);
  ASSERT_NE(tests, nullptr) << ReasonOf(report);
  EXPECT_EQ(tests->passed, 1);
  EXPECT_EQ(tests->skipped, 1);
  ASSERT_EQ(tests->failures.size(), 1U);
  EXPECT_EQ(tests->failures[0].id, "a::y");
  EXPECT_EQ(tests->failures[0].message, "1 is not 2");
}

TEST(RegexParser, RefusesWhatNoPatternMatches) {
  EXPECT_EQ(ReasonOf(Parse(ForFindings(), "Traceback:\n0 problems\n", 0)),
            "not what the patterns describe: no pattern matches the line \"Traceback:\"");
}

TEST(RegexParser, RefusesAnOutputWithoutItsLastLine) {
  EXPECT_EQ(ReasonOf(Parse(ForTests(), "PASS a/x\n", 0)),
            "not what the patterns describe: the line that ends the output is missing");
  EXPECT_EQ(ReasonOf(Parse(ForTests(), "PASS a/x\nEND 1", 0)),
            "not what the patterns describe: the output ends within a line");
}

TEST(RegexParser, ComparesTheCountsOfTheLastLine) {
  EXPECT_EQ(ReasonOf(Parse(ForTests(), "PASS a/x\nEND 2 0\n", 0)),
            "not what the patterns describe: the last line counts other results than the lines "
            "before it");
}

TEST(RegexParser, NeedsPatterns) {
  EXPECT_EQ(ReasonOf(ReadReport(*FindParser("regex"), {.exit_code = 0})),
            "the language file has no patterns");
}

}  // namespace
}  // namespace polybox::verify
