// Parsers of tools of which no output is recorded. The texts follow the tools' documentation.
#include <string>

#include <gtest/gtest.h>

#include "verify/parser.h"

namespace polybox::verify {
namespace {

Report Parse(std::string_view parser, std::string_view out, int exit_code) {
  return ReadReport(*FindParser(parser), {.out = out, .exit_code = exit_code, .root = "/p"});
}

TEST(PhpstanJson, ReadsMessagesByFile) {
  const Report report = Parse("phpstan-json",
                              R"({"totals":{"errors":1,"file_errors":1},"files":{"/p/src/a.php":)"
                              R"({"errors":1,"messages":[{"message":"odd","line":3,)"
                              R"("ignorable":true,"identifier":"x.y"}]}},"errors":["no config"]})",
                              1);
  const auto* found = std::get_if<FindingReport>(&report);
  ASSERT_NE(found, nullptr);
  ASSERT_EQ(found->findings.size(), 2U);
  EXPECT_EQ(found->findings[0].file, "src/a.php");
  EXPECT_EQ(found->findings[0].range.line, 3);
  EXPECT_EQ(found->findings[0].rule, "x.y");
  EXPECT_EQ(found->findings[1].message, "no config");
}

TEST(PhpstanJson, IsCleanWithAnEmptyListOfFiles) {
  EXPECT_TRUE(IsClean(Parse(
      "phpstan-json", R"({"totals":{"errors":0,"file_errors":0},"files":[],"errors":[]})", 0)));
}

constexpr std::string_view kSuite =
    R"({"type":"suite","event":"started","test_count":2})"
    "\n"
    R"({"type":"test","event":"started","name":"shop::shop$tests::adds"})"
    "\n"
    R"({"type":"test","event":"ok","name":"shop::shop$tests::adds","exec_time":0.01})"
    "\n";

TEST(NextestJson, ReadsTheTestsOfASuite) {
  const Report report =
      Parse("nextest-json",
            std::string(kSuite) +
                R"({"type":"test","event":"failed","name":"shop::shop$tests::wrong","stdout":)"
                R"("thread 'x' panicked at src/lib.rs:29:9:\nleft: 3\nright: 4\n"})"
                "\n"
                R"({"type":"suite","event":"failed","passed":1,"failed":1,"ignored":0})"
                "\n",
            100);
  const auto* tests = std::get_if<TestReport>(&report);
  ASSERT_NE(tests, nullptr);
  EXPECT_EQ(tests->passed, 1);
  ASSERT_EQ(tests->failures.size(), 1U);
  EXPECT_EQ(tests->failures[0].test, (TestName{"shop::shop", "tests::wrong"}));
  EXPECT_EQ(tests->failures[0].file, "src/lib.rs");
  EXPECT_EQ(tests->failures[0].line, 29);
  EXPECT_EQ(tests->failures[0].expected, "4");
}

TEST(NextestJson, RefusesASuiteWithoutEnd) {
  EXPECT_TRUE(std::holds_alternative<Unreadable>(Parse("nextest-json", kSuite, 0)));
}

}  // namespace
}  // namespace polybox::verify
