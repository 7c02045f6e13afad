#include "verify/scripts.h"

#include "verify/testing/project_fixture.h"

namespace polybox::verify {
namespace {

using ScriptsTest = testing::ProjectFixture;
using languages::Argv;

TEST_F(ScriptsTest, ThePackageManagerFollowsFromTheManifestThenFromTheLockFile) {
  const std::string manifest = R"({"scripts": {"test": "x"}})";
  Put("package.json", manifest);
  EXPECT_EQ(PlanOf("", Check::kTest).argv, (Argv{"npm", "run", "test"}));
  Put("bun.lock");
  EXPECT_EQ(PlanOf("", Check::kTest).argv, (Argv{"bun", "run", "test"}));
  Put("yarn.lock");
  EXPECT_EQ(PlanOf("", Check::kTest).argv, (Argv{"yarn", "run", "test"}));
  Put("pnpm-lock.yaml");
  EXPECT_EQ(PlanOf("", Check::kTest).argv, (Argv{"pnpm", "run", "test"}));
  Put("package.json", R"({"packageManager": "bun@1.4.4", "scripts": {"test": "x"}})");
  EXPECT_EQ(PlanOf("", Check::kTest).argv, (Argv{"bun", "run", "test"}));
  Put("package.json", R"({"packageManager": "other@1", "scripts": {"test": "x"}})");
  EXPECT_EQ(PlanOf("", Check::kTest).argv, (Argv{"pnpm", "run", "test"}));
}

TEST_F(ScriptsTest, WithoutAScriptTheCommandOfTheLanguageFileRuns) {
  for (const char* manifest :
       {"{}", "", "[]", R"({"scripts": []})", R"({"scripts": {"test": 1}})"}) {
    Put("package.json", manifest);
    EXPECT_EQ(PlanOf("", Check::kLint).argv, (Argv{"eslint", ".", "--format=json"})) << manifest;
  }
}

TEST_F(ScriptsTest, AScriptOfAKnownRunnerIsAskedForAReportThatAParserReads) {
  Put("package.json", R"({"scripts": {"lint": "eslint src --max-warnings 0"}})");
  const Plan plan = PlanOf("", Check::kLint);
  EXPECT_EQ(plan.argv,
            (Argv{"npm", "run", "lint", "--", "--format=json", "--output-file={report}"}));
  EXPECT_EQ(plan.report, "{report}");
  EXPECT_EQ(plan.script, "lint");
}

TEST_F(ScriptsTest, AScriptThatIsMoreThanOnePlainCommandIsRunAsItIs) {
  for (const char* script : {"eslint . && echo ok", "eslint . | cat", "eslint '*.js'", "my-eslint",
                             "eslint . > log", "echo $(eslint .)"}) {
    Put("package.json", std::string(R"({"scripts": {"lint": ")") + script + "\"}}");
    const Plan plan = PlanOf("", Check::kLint);
    EXPECT_EQ(plan.argv, (Argv{"npm", "run", "lint"})) << script;
    EXPECT_EQ(plan.report, "") << script;
  }
}

TEST_F(ScriptsTest, TestsOfAScriptCannotBeSelected) {
  Put("package.json", R"({"scripts": {"test": "jest"}})");
  EXPECT_EQ(PlanOf("", Check::kTest, {.filter = "x"}).script,
            "the script \"test\" of package.json decides which tests run; polybox cannot select "
            "tests of it");
}

TEST_F(ScriptsTest, AMissingScriptIsAnErrorThatListsTheOthers) {
  const auto error = [&](const std::string& name) {
    const Project project = Open();
    const auto chosen = detectors_.Choose(project, {.tool = "t", .language = "node"});
    return chosen->front()->ScriptFor(project, name, {}).error().message();
  };
  Put("package.json", R"({"scripts": {"test": "x", "build": "y"}})");
  EXPECT_EQ(error("x"), "no script named \"x\" in package.json; available: build, test");
  Put("package.json", "{}");
  EXPECT_EQ(error("x"), "no script named \"x\" in package.json; available: (none defined)");
  Put("package.json", "{");
  EXPECT_TRUE(error("x").starts_with("parsing package.json: ")) << error("x");
}

}  // namespace
}  // namespace polybox::verify
