// What compile steps find ready, with real slots: these tests need what grade full needs, and skip
// with the reason elsewhere.
#include "exec/preparer.h"

#include <algorithm>
#include <filesystem>
#include <future>
#include <sstream>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/testing/temp_dir.h"
#include "exec/catalog.h"
#include "exec/engine.h"
#include "languages/builtin.h"

namespace polybox::exec {
namespace {

namespace fs = std::filesystem;

/// `%` is what prepares it.
constexpr std::string_view kPrepared = R"(
id = "prepared"
name = "Prepared"
extensions = [".pr"]
[toolchain]
binaries = ["bash"]
version = ["{executable}", "--version"]
[entry]
file = "script.pr"
[compile]
command = ["bash", "-c", "echo ready: $READY; cat $READY/made"]
[compile.env]
READY = "nothing"
[compile.limits]
address_space = "512MiB"
open_files = 64
processes = 32
[compile.prepare]
command = ["bash", "-c", '''%''', "bash", "{target}"]
[compile.prepare.env]
READY = "{prepared}"
[run]
command = ["{executable}", "{entry}"]
[run.limits]
address_space = "512MiB"
open_files = 64
processes = 32
[image]
apt = ["bash"]
)";

class PreparerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "grade full needs root";
    auto home = JailHome::Make(jail::Grade::kFull);
    ASSERT_TRUE(home.ok()) << home.error().message();
    home_.emplace(std::move(home).value());
    // Whoever may enter it is decided further down.
    fs::permissions(dir_.path(), fs::perms(0755));
  }

  void Use(const std::string& preparation) {
    std::string text(kPrepared);
    text.replace(text.find('%'), 1, preparation);
    text_ = text;
    std::vector<EmbeddedFile> files = {{"prepared.toml", text_}};
    for (const EmbeddedFile& file : languages::BuiltinFiles()) {
      if (file.name == "defaults.toml") files.push_back(file);
    }
    auto registry = languages::Registry::Load(files, {});
    ASSERT_TRUE(registry.ok()) << registry.error().message();
    registry_.emplace(std::move(registry).value());
    catalog_.emplace(*registry_, languages::FinderOptions{"/usr/bin:/bin", "", "/nowhere"}, log_);
  }
  /// Asks often enough that it is made, and waits for it.
  std::string Prepare(Preparer& preparer) {
    for (int i = 0; i < 2; ++i) EXPECT_EQ(preparer.Get(installation()), "");
    preparer.AwaitIdle();
    return preparer.Get(installation());
  }
  const Installation& installation() const { return *catalog_->Find("prepared"); }

  std::unique_ptr<Preparer> Open(Preparer::Mode mode = Preparer::Mode::kMake) {
    return Preparer::Open(*home_, {.directory = dir_.path() + "/ready", .mode = mode}, log_)
        .value();
  }

  Report Execute(Preparer& preparer, std::string script) {
    EngineOptions options;
    options.lanes = {{.name = "test"}};
    options.preparer = &preparer;
    const auto engine = MakeEngine(*catalog_, *home_, std::move(options));
    Request request;
    request.language = "prepared";
    request.files = {{"script.pr", std::move(script), 0644}};
    std::promise<Answer> answer;
    engine->Submit(std::move(request), [&](Answer got) { answer.set_value(std::move(got)); });
    Answer got = answer.get_future().get();
    return std::holds_alternative<Report>(got) ? std::get<Report>(std::move(got)) : Report();
  }

  testing::TempDir dir_;
  std::ostringstream said_;
  log::Logger log_ = log::Logger::ToStream(said_, {});
  std::string text_;
  std::optional<JailHome> home_;
  std::optional<languages::Registry> registry_;
  std::optional<Catalog> catalog_;
};

TEST_F(PreparerTest, ItIsMadeOnceInTheBackgroundAndThenThere) {
  Use("date +%s.%N > $1/made");
  const auto preparer = Open();
  const std::string directory = Prepare(*preparer);
  ASSERT_NE(directory, "");
  const std::string made = ReadFile(directory + "/made").value();
  EXPECT_FALSE(made.empty());
  EXPECT_EQ(preparer->Get(installation()), directory);
  // Another server has it at once, and one that only looks too.
  EXPECT_EQ(Open()->Get(installation()), directory);
  EXPECT_EQ(Open(Preparer::Mode::kLook)->Get(installation()), directory);
  EXPECT_EQ(ReadFile(directory + "/made").value(), made);
}

TEST_F(PreparerTest, WhoOnlyLooksMakesNothing) {
  Use("date > $1/made");
  const auto preparer = Open(Preparer::Mode::kLook);
  EXPECT_EQ(Prepare(*preparer), "");
}

TEST_F(PreparerTest, OneProgramIsNoReasonToMakeIt) {
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

TEST_F(PreparerTest, WhatFailsIsSaidOnceAndNotTriedAgain) {
  for (const char* command : {"exit 3", "echo x > $1/made; ln -s /etc $1/link", "kill -9 $$"}) {
    Use(command);
    said_.str("");
    const auto preparer = Open();
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(preparer->Get(installation()), "") << command;
      preparer->AwaitIdle();
    }
    const std::string said = said_.str();
    EXPECT_EQ(std::ranges::count(said, '\n'), 1) << command << said;
    EXPECT_NE(said.find("compilers find nothing ready"), std::string::npos) << said;
    EXPECT_TRUE(fs::is_empty(dir_.path() + "/ready")) << command;
  }
}

TEST_F(PreparerTest, ItsEndDoesNotWait) {
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
