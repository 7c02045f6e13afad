#include "verify/selection.h"

#include <gtest/gtest.h>

#include "verify/testing/project_fixture.h"

namespace polybox::verify {
namespace {

using languages::Argv;
using SelectionTest = testing::ProjectFixture;

TEST(Selection, APatternMatchesTheNamesAndNothingElse) {
  EXPECT_EQ(PatternOf({"TestA"}), "^(TestA)$");
  EXPECT_EQ(PatternOf({"a.b", "c[1]", "größer"}), "^(a\\.b|c\\[1\\]|größer)$");
}

TEST(Selection, AWordOfItsOwnBecomesOneWordForEachDifferentValue) {
  const std::vector<TestName> tests = {
      {"pkg/a", "TestX/one"}, {"pkg/a", "TestX/two"}, {"pkg/b", "TestY"}};
  const std::vector<std::string> ids = {"1", "2", "3"};
  EXPECT_EQ(ExpandSelection({"run", "{top_pattern}", "{suites}"}, tests, ids),
            (Argv{"run", "^(TestX|TestY)$", "pkg/a", "pkg/b"}));
  EXPECT_EQ(ExpandSelection({"run", "-e={pattern}", "{ids}", "{names}"}, tests, ids),
            (Argv{"run", "-e=^(TestX/one|TestX/two|TestY)$", "1", "2", "3", "TestX/one",
                  "TestX/two", "TestY"}));
}

TEST_F(SelectionTest, AFilterAndNamedTestsReplaceTheCommandOfTheRunner) {
  Put("go.mod");
  EXPECT_EQ(PlanOf("", Check::kTest, {.filter = "TestA"}).argv,
            (Argv{"go", "test", "-json", "-count=1", "-run", "TestA", "./..."}));
  EXPECT_EQ(PlanOf("", Check::kTest, {.tests = {{"example.com/m", "TestA/b"}}, .ids = {"x"}}).argv,
            (Argv{"go", "test", "-json", "-count=1", "-run", "^(TestA)$", "example.com/m"}));
}

TEST_F(SelectionTest, ACheckThatALanguageLacksIsAnErrorThatSaysSo) {
  Put("pom.xml");
  EXPECT_EQ(PlanOf("", Check::kFormat).script,
            "format is not supported for java: its language file has no command for it");
}

}  // namespace
}  // namespace polybox::verify
