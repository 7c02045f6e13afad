#include "exec/warm.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "languages/builtin.h"
#include "languages/registry.h"

namespace polybox::exec {
namespace {

using jail::WarmKind;

class WarmTest : public ::testing::Test {
 protected:
  launch::Installation Installed(const char* language) {
    launch::Installation installation{*registry_.Find(language), toolchain_, ""};
    installation.warm = WarmFor(installation, {{"python", {"numpy"}}}, {"output"});
    return installation;
  }
  static jail::RunRequest RunOf(const launch::Installation& installation, const char* file,
                                std::vector<std::string> args = {}) {
    return launch::RequestFor(installation, installation.language.run,
                              {{{file, "", 0644}}, std::move(args)})
        .value();
  }

  const languages::Registry registry_ =
      languages::Registry::Load(languages::BuiltinFiles(), {}).value();
  const languages::Toolchain toolchain_ = {.binary = "/shims/tool",
                                           .executable = "/opt/tool/bin/tool",
                                           .roots = {"/opt/tool"},
                                           .version = "tool 1.2.3"};
};

TEST_F(WarmTest, ALanguageFileSaysHowItsInterpreterStartsAhead) {
  const jail::Warm python = Installed("python").warm;
  EXPECT_EQ(python.start.kind, WarmKind::kZygote);
  ASSERT_GT(python.start.argv.size(), 4U);
  EXPECT_EQ(python.start.argv[0], "/opt/tool/bin/tool");
  EXPECT_EQ(python.start.argv[1], "/.warm/start.py");
  EXPECT_EQ(python.start.argv[2], "/sandbox/script.py") << "what it is ready for";
  EXPECT_EQ(python.start.argv[3], "collections") << "what it loads comes after";
  EXPECT_EQ(python.start.argv.back(), "numpy") << "and then what a setting adds";
  EXPECT_EQ(python.start.entry, "");
  EXPECT_FALSE(python.program.empty());

  const jail::Warm node = Installed("node").warm;
  EXPECT_EQ(node.start.kind, WarmKind::kPrestart);
  EXPECT_EQ(node.start.entry, "/sandbox/script.js");
  EXPECT_EQ(std::ranges::count(node.start.argv, "/.warm/start.js"), 1);
  EXPECT_EQ(Installed("bash").warm.start.kind, WarmKind::kNone);
}

TEST_F(WarmTest, ArgumentsAndOrdinaryVariablesAreTakenOver) {
  const launch::Installation python = Installed("python");
  jail::RunRequest run = RunOf(python, "any.py", {"one", "two"});
  EXPECT_TRUE(TakesOver(python, run));
  run.env.push_back("WORD=hello");
  EXPECT_TRUE(TakesOver(python, run));
}

TEST_F(WarmTest, TheUsualRunFindsTheEnvironmentThatItsInterpreterWasStartedWith) {
  const launch::Installation python = Installed("python");
  jail::RunRequest run = RunOf(python, "script.py");
  EXPECT_NE(run.env, python.warm.start.env);
  launch::NameOutput(python, "output", run);
  EXPECT_EQ(run.env, python.warm.start.env);
  EXPECT_EQ(std::ranges::count(run.env, "OUTPUT_DIR=/sandbox/output"), 1);
}

TEST_F(WarmTest, VariablesThatAnInterpreterReadsOnceStartItCold) {
  const launch::Installation python = Installed("python");
  for (const char* variable : {"PYTHONHASHSEED=0", "LC_ALL=C", "TZ=UTC", "LD_PRELOAD=x.so"}) {
    jail::RunRequest run = RunOf(python, "any.py");
    run.env.push_back(variable);
    EXPECT_FALSE(TakesOver(python, run)) << variable;
  }
  jail::RunRequest without = RunOf(python, "any.py");
  std::erase(without.env, "MALLOC_ARENA_MAX=2");
  EXPECT_FALSE(TakesOver(python, without)) << "one that is missing is a change as well";
  jail::RunRequest small = RunOf(python, "any.py");
  small.limits.stack = Bytes::MiB(1);
  EXPECT_FALSE(TakesOver(python, small));
}

TEST_F(WarmTest, WhereTheProgramsNameIsGivenAheadOnlyThatOneIsTakenOver) {
  const launch::Installation node = Installed("node");
  EXPECT_TRUE(TakesOver(node, RunOf(node, "script.js")));
  EXPECT_FALSE(TakesOver(node, RunOf(node, "other.js")));
}

}  // namespace
}  // namespace polybox::exec
