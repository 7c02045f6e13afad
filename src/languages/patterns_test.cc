#include "languages/patterns.h"

#include <string>

#include <gtest/gtest.h>

#include "languages/parse.h"
#include "languages/testing/sample.h"

namespace polybox::languages {
namespace {

/// Returns the sample file with a linter that has this text below its command.
std::string WithLint(const std::string& text) {
  return testing::SampleFile("sample") +
         "[verify]\norder = 9\nmarkers = [\"sample.mark\"]\n[verify.lint]\n"
         "command = [\"sample-lint\"]\n" +
         text;
}

std::string Complaints(const std::string& text) {
  const Result<Language> language = ParseLanguage(WithLint(text), "x.toml", {});
  return language.ok() ? "" : language.error().message();
}

TEST(Patterns, AreReadWithTheParserRegex) {
  const auto language = ParseLanguage(
      WithLint("parser = \"regex\"\n[verify.lint.patterns]\n"
               "finding = ['(?P<file>[^:]+):(?P<line>\\d+): (?P<message>.*)']\nignore = ['#.*']\n"),
      "x.toml", {});
  ASSERT_TRUE(language.ok()) << language.error().message();
  const auto& patterns = language->verify->lint->patterns;
  ASSERT_TRUE(patterns.has_value());
  EXPECT_EQ(patterns->finding.size(), 1U);
  EXPECT_EQ(patterns->ignore, std::vector<std::string>{"#.*"});
}

struct Refused {
  const char* what;
  const char* text;
  const char* complaint;
};

TEST(Patterns, AreRefusedWithTheReason) {
  const Refused rows[] = {
      {"no patterns", "parser = \"regex\"\n", "\"regex\" needs the table `patterns`"},
      {"another parser",
       "parser = \"gnu\"\n[verify.lint.patterns]\nfinding = ['(?P<message>.*)']\n",
       "only the parser \"regex\" reads patterns"},
      {"no expression", "parser = \"regex\"\n[verify.lint.patterns]\nfinding = ['(']\n",
       "expected a regular expression: missing ): ("},
      {"an unknown group",
       "parser = \"regex\"\n[verify.lint.patterns]\nfinding = ['(?P<mesage>.*)']\n",
       "expected no group \"mesage\"; groups are file, line"},
      {"no message", "parser = \"regex\"\n[verify.lint.patterns]\nfinding = ['(?P<file>.*)']\n",
       "expected a group (?P<message>...)"},
      {"tests without an end",
       "parser = \"regex\"\n[verify.lint.patterns]\nfailed = ['F (?P<name>.*)']\n"
       "passed = ['P (?P<name>.*)']\n",
       "tests need the line that ends them"},
      {"nothing", "parser = \"regex\"\n[verify.lint.patterns]\nignore = ['x']\n",
       "give `finding`, or `failed` and `passed`"},
  };
  for (const Refused& row : rows) {
    EXPECT_NE(Complaints(row.text).find(row.complaint), std::string::npos)
        << row.what << ": " << Complaints(row.text);
  }
}

}  // namespace
}  // namespace polybox::languages
