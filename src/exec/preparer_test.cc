// Tests of the preparer with real slots.
#include "compile/preparer.h"

#include <algorithm>
#include <filesystem>

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/testing/temp_dir.h"
#include "exec/testing/engine_fixture.h"

namespace polybox::exec {
namespace {

namespace fs = std::filesystem;

/// The parts of a language file with a preparation that runs `script`.
std::string Parts(const std::string& script) {
  return testing::CompilePart("[\"bash\", \"-c\", \"echo ready: $READY; cat $READY/made\"]") +
         "[compile.env]\nREADY = \"nothing\"\n[compile.prepare]\ncommand = [\"bash\", \"-c\", '''" +
         script + "''', \"bash\", \"{target}\"]\n[compile.prepare.env]\nREADY = \"{prepared}\"\n";
}

class PreparerTest : public testing::EngineFixture {
 protected:
  void SetUp() override {
    EngineFixture::SetUp();
    // Guests must be able to enter the directory. The permissions of the layers inside are under
    // test.
    fs::permissions(dir_.path(), fs::perms(0755));
  }

  void Use(const std::string& preparation) {
    Load({}, {testing::BashLanguage("prepared", Parts(preparation))});
  }
  /// Requests the layer twice, so that it is made, and waits for it.
  std::string Prepare(compile::Preparer& preparer) {
    for (int i = 0; i < 2; ++i) EXPECT_EQ(preparer.Get(installation()), "");
    preparer.AwaitIdle();
    return preparer.Get(installation());
  }
  const launch::Installation& installation() const { return *catalog_->Find("prepared"); }

  std::unique_ptr<compile::Preparer> Open(
      compile::Preparer::Mode mode = compile::Preparer::Mode::kMake) {
    return compile::Preparer::Open(*home_, {.directory = dir_.path() + "/ready", .mode = mode},
                                   log_)
        .value();
  }

  Report Execute(compile::Preparer& preparer, std::string script) {
    EngineOptions options;
    options.lanes = {{.name = "test"}};
    options.preparer = &preparer;
    StartEngine(std::move(options));
    Report report = Run(ProgramOf("prepared", std::move(script)));
    // The engine uses the preparer, which the caller may destroy now.
    engine_.reset();
    return report;
  }

  polybox::testing::TempDir dir_;
};

TEST_F(PreparerTest, APreparedLayerIsMadeOnceInTheBackground) {
  Use("date +%s.%N > $1/made");
  const auto preparer = Open();
  const std::string directory = Prepare(*preparer);
  ASSERT_NE(directory, "");
  const std::string made = ReadFile(directory + "/made").value();
  EXPECT_FALSE(made.empty());
  EXPECT_EQ(preparer->Get(installation()), directory);
  // Another server finds the layer at once, and so does one that only looks.
  EXPECT_EQ(Open()->Get(installation()), directory);
  EXPECT_EQ(Open(compile::Preparer::Mode::kLook)->Get(installation()), directory);
  EXPECT_EQ(ReadFile(directory + "/made").value(), made);
}

TEST_F(PreparerTest, ModeLookMakesNoLayer) {
  Use("date > $1/made");
  const auto preparer = Open(compile::Preparer::Mode::kLook);
  EXPECT_EQ(Prepare(*preparer), "");
}

TEST_F(PreparerTest, ASingleProgramStartsNoPreparation) {
  Use("date > $1/made");
  const auto preparer = Open();
  EXPECT_EQ(preparer->Get(installation()), "");
  preparer->AwaitIdle();
  EXPECT_TRUE(fs::is_empty(dir_.path() + "/ready"));
}

TEST_F(PreparerTest, CompileStepsDoWithoutUntilItIsThere) {
  Use("echo yes > $1/made");
  const auto preparer = Open();
  Execute(*preparer, "true");
  const Report before = Execute(*preparer, "true");
  EXPECT_EQ(before.compile->out, "ready: nothing\n");
  preparer->AwaitIdle();
  const Report after = Execute(*preparer, "true");
  EXPECT_EQ(after.compile->out, "ready: /prepared\nyes\n");
}

TEST_F(PreparerTest, NoGuestCanChangeIt) {
  Use("echo yes > $1/made; chmod 666 $1/made; chmod 777 $1");
  const auto preparer = Open();
  Prepare(*preparer);
  const std::string attack =
      "echo no > /prepared/made; echo no > /prepared/new; rm -rf /prepared/made; chmod 777 "
      "/prepared; "
      "mv /prepared /old; cat /prepared/made; ls /prepared";
  EXPECT_EQ(Execute(*preparer, attack).run->out, "yes\nmade\n");
  EXPECT_EQ(ReadFile(preparer->Get(installation()) + "/made").value(), "yes\n");
}

TEST_F(PreparerTest, AFailedPreparationIsLoggedOnceAndNotTriedAgain) {
  for (const char* command : {"exit 3", "echo x > $1/made; ln -s /etc $1/link", "kill -9 $$"}) {
    Use(command);
    lines_.str("");
    const auto preparer = Open();
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(preparer->Get(installation()), "") << command;
      preparer->AwaitIdle();
    }
    const std::string said = lines_.str();
    EXPECT_EQ(std::ranges::count(said, '\n'), 1) << command << said;
    EXPECT_NE(said.find("could not prepare the compiler cache; compiling without it"),
              std::string::npos)
        << said;
    EXPECT_TRUE(fs::is_empty(dir_.path() + "/ready")) << command;
  }
}

TEST_F(PreparerTest, TheDestructorDoesNotWaitForAPreparation) {
  Use("sleep 25; echo > $1/made");
  const auto begin = std::chrono::steady_clock::now();
  {
    const auto preparer = Open();
    for (int i = 0; i < 2; ++i) preparer->Get(installation());
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
  EXPECT_TRUE(fs::is_empty(dir_.path() + "/ready"));
}

TEST_F(PreparerTest, AnotherCommandMakesAnother) {
  Use("echo one > $1/made");
  const auto first = Open();
  const std::string directory = Prepare(*first);
  Use("echo two > $1/made");
  const auto second = Open();
  EXPECT_NE(Prepare(*second), directory);
  EXPECT_EQ(ReadFile(second->Get(installation()) + "/made").value(), "two\n");
}

}  // namespace
}  // namespace polybox::exec
