// Compile steps with real slots: these tests need what grade full needs, and skip with the reason
// elsewhere. The language is Bash once more: its compiler does what the program's first lines say.
#include "exec/compile_step.h"

#include <filesystem>
#include <future>
#include <sstream>
#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/testing/temp_dir.h"
#include "exec/engine.h"
#include "languages/builtin.h"

namespace polybox::exec {
namespace {

namespace fs = std::filesystem;

/// Compiling runs `compile.sh`; the program is `script.cs`.
constexpr std::string_view kCompiled = R"(
id = "compiled"
name = "Compiled"
extensions = [".cs"]
[toolchain]
binaries = ["bash"]
version = ["{executable}", "--version"]
[entry]
file = "script.cs"
[compile]
command = ["bash", "compile.sh"]
changing_words = ["NOW"]
[compile.limits]
address_space = "512MiB"
open_files = 64
processes = 32
[run]
command = ["{executable}", "{entry}"]
[run.limits]
address_space = "512MiB"
open_files = 64
processes = 32
[image]
apt = ["bash"]
)";

/// Never the same twice: whoever sees one number twice saw one compile step twice.
constexpr const char* kCompile =
    "date +%s.%N > made; echo out; echo warning: $RANDOM$RANDOM >&2; echo x > /tmp/left\n";

class CompileStepTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "grade full needs root";
    std::vector<EmbeddedFile> files = {{"compiled.toml", kCompiled}};
    for (const EmbeddedFile& file : languages::BuiltinFiles()) {
      if (file.name == "defaults.toml") files.push_back(file);
    }
    auto registry = languages::Registry::Load(files, {});
    ASSERT_TRUE(registry.ok()) << registry.error().message();
    registry_.emplace(std::move(registry).value());
    catalog_.emplace(*registry_, languages::FinderOptions{"/usr/bin:/bin", "", "/nowhere"}, log_);
    auto home = JailHome::Make(jail::Grade::kFull);
    ASSERT_TRUE(home.ok()) << home.error().message();
    home_.emplace(std::move(home).value());
    cache_ = CompileCache::Open({.directory = dir_.path() + "/compiled"}, log_).value();
    Start();
  }

  /// A server of its own, perhaps with the directory of another.
  void Start() {
    EngineOptions options;
    options.lanes = {{.name = "test", .concurrency = 4, .queue = 20}};
    options.compile_cache = cache_.get();
    engine_ = MakeEngine(*catalog_, *home_, std::move(options));
  }

  static Request Program(std::string script, std::string compile = kCompile) {
    Request request;
    request.language = "compiled";
    request.files = {{"script.cs", std::move(script), 0644},
                     {"compile.sh", std::move(compile), 0644}};
    return request;
  }

  std::future<Answer> Submit(Request request) {
    auto promise = std::make_shared<std::promise<Answer>>();
    std::future<Answer> future = promise->get_future();
    engine_->Submit(std::move(request),
                    [promise](Answer answer) { promise->set_value(std::move(answer)); });
    return future;
  }
  static Report ReportOf(Answer answer) {
    if (const auto* refusal = std::get_if<Refusal>(&answer)) {
      ADD_FAILURE() << refusal->message;
      return {};
    }
    return std::get<Report>(std::move(answer));
  }
  Report Execute(Request request) { return ReportOf(Submit(std::move(request)).get()); }

  testing::TempDir dir_;
  std::ostringstream text_;
  log::Logger log_ = log::Logger::ToStream(text_, {});
  std::optional<languages::Registry> registry_;
  std::optional<Catalog> catalog_;
  std::optional<JailHome> home_;
  std::unique_ptr<CompileCache> cache_;
  std::shared_ptr<Executor> engine_;
};

TEST_F(CompileStepTest, AHitIsWhatTheCompilerDidInEveryResult) {
  const std::string look = "cat made; ls -lAn --time-style=+ . /tmp; stat -c '%a %u %s %F' *";
  const Report first = Execute(Program(look));
  const Report second = Execute(Program(look));
  EXPECT_EQ(first.compile_hit, false);
  EXPECT_EQ(second.compile_hit, true);
  EXPECT_EQ(first.run->out, second.run->out);
  EXPECT_EQ(first.compile->out, "out\n");
  EXPECT_EQ(first.compile->out, second.compile->out);
  EXPECT_EQ(first.compile->err, second.compile->err);
  EXPECT_EQ(first.compile->outcome.memory_peak, second.compile->outcome.memory_peak);
  EXPECT_EQ(second.compile->outcome.end, jail::End::kExited);
  // What the compiler left elsewhere is nobody's business.
  EXPECT_EQ(first.run->out.find("left"), std::string::npos);
}

TEST_F(CompileStepTest, OutputIsKeptInItsOrderAndStreamedOnAHitToo) {
  Request request = Program("echo ran", "echo one; sleep 0.1; echo two >&2; sleep 0.1; echo three");
  request.wants_combined = true;
  std::string streamed;
  request.on_output = [&](StepKind, Stream, std::string_view text) { streamed += text; };
  const Report first = Execute(request);
  const std::string live = std::exchange(streamed, "");
  const Report second = Execute(request);
  EXPECT_EQ(second.compile_hit, true);
  EXPECT_EQ(first.compile->combined, "one\ntwo\nthree\n");
  EXPECT_EQ(second.compile->combined, "one\ntwo\nthree\n");
  EXPECT_EQ(live, streamed);
}

TEST_F(CompileStepTest, AnotherServerFindsIt) {
  const Report first = Execute(Program("cat made"));
  cache_ = CompileCache::Open({.directory = dir_.path() + "/compiled"}, log_).value();
  Start();
  const Report second = Execute(Program("cat made"));
  EXPECT_EQ(second.compile_hit, true);
  EXPECT_EQ(first.run->out, second.run->out);
}

TEST_F(CompileStepTest, WhatMakesAnotherProgramIsCompiled) {
  const std::string first = Execute(Program("cat made")).run->out;
  Request other_limit = Program("cat made");
  other_limit.compile.memory = Bytes::MiB(64);
  Request other_file = Program("cat made");
  other_file.files.push_back({"more", "", 0644});
  Request with_directory = Program("cat made");
  with_directory.output_directory = "output";
  for (Request& request : std::vector{other_limit, other_file, with_directory,
                                      Program("cat made #"), Program("cat made", "date > made")}) {
    const Report report = Execute(std::move(request));
    EXPECT_EQ(report.compile_hit, false);
    EXPECT_NE(report.run->out, first);
  }
  // What only the program sees is no reason.
  Request other_run = Program("cat made; echo $A$1");
  Execute(other_run);
  other_run.env = {{"A", "B"}};
  other_run.args = {"C"};
  other_run.input = "D";
  const Report report = Execute(other_run);
  EXPECT_EQ(report.compile_hit, true);
  EXPECT_TRUE(report.run->out.ends_with("BC\n")) << report.run->out;
}

TEST_F(CompileStepTest, FailuresAreNotKept) {
  const std::string compile = "echo $RANDOM$RANDOM; exit 1";
  const Report first = Execute(Program("echo never", compile));
  const Report second = Execute(Program("echo never", compile));
  EXPECT_EQ(second.compile_hit, false);
  EXPECT_EQ(second.compile->outcome.exit_code, 1);
  EXPECT_FALSE(second.run.has_value());
  EXPECT_NE(first.compile->out, second.compile->out);
  EXPECT_TRUE(fs::is_empty(dir_.path() + "/compiled"));
}

TEST_F(CompileStepTest, WhatIsNoPlainFileIsRunAndNotKept) {
  const Request request =
      Program("readlink link; cat /tmp/left", "ln -s /etc link; echo x >/tmp/left");
  Execute(request);
  const Report second = Execute(request);
  EXPECT_EQ(second.compile_hit, false);
  EXPECT_EQ(second.run->out, "/etc\nx\n");
  EXPECT_TRUE(fs::is_empty(dir_.path() + "/compiled"));
}

TEST_F(CompileStepTest, AWordThatChangesByItselfIsNotAskedFor) {
  const Report report = Execute(Program("cat made # NOW"));
  EXPECT_FALSE(report.compile_hit.has_value());
  EXPECT_TRUE(fs::is_empty(dir_.path() + "/compiled"));
}

TEST_F(CompileStepTest, WhoeverAllowsLessTimeThanItTookIsNotServed) {
  Execute(Program("cat made", "sleep 0.3; echo > made"));
  Request hasty = Program("cat made", "sleep 0.3; echo > made");
  hasty.compile.wall_time = std::chrono::milliseconds(100);
  const Report report = Execute(std::move(hasty));
  EXPECT_EQ(report.compile_hit, false);
  EXPECT_EQ(report.compile->outcome.end, jail::End::kTimedOut);
}

TEST_F(CompileStepTest, WhoeverAllowsLessOutputThanItHadIsNotServed) {
  Request request = Program("true", "printf %01000d 0");
  EXPECT_EQ(Execute(request).compile_hit, false);
  EXPECT_EQ(Execute(request).compile_hit, true);
  request.output_rule = OutputRule::kEndRun;
  request.compile.output = Bytes(500);
  const Report report = Execute(request);
  EXPECT_EQ(report.compile_hit, false);
  EXPECT_EQ(report.compile->outcome.end, jail::End::kOutputLimit);
  // What is merely cut is cut as always.
  request.output_rule = OutputRule::kTruncate;
  const Report cut = Execute(request);
  EXPECT_EQ(cut.compile_hit, true);
  EXPECT_TRUE(cut.compile->out_truncated);
}

TEST_F(CompileStepTest, AsManyAtOnceAreCompiledOnce) {
  std::vector<std::future<Answer>> answers;
  for (int i = 0; i < 8; ++i) {
    answers.push_back(Submit(Program("cat made", "sleep 0.5; date +%N > made")));
  }
  std::set<std::string> made;
  int misses = 0;
  for (auto& answer : answers) {
    const Report report = ReportOf(answer.get());
    made.insert(report.run->out);
    misses += report.compile_hit == false ? 1 : 0;
  }
  EXPECT_EQ(made.size(), 1U);
  EXPECT_EQ(misses, 1);
}

TEST_F(CompileStepTest, AProgramThatChangesItselfChangesNothingForTheNext) {
  const std::string attack =
      "cat made; echo poison > made; chmod 777 made; rm compile.sh; ln -s /etc/passwd compile.sh; "
      "echo poison >> script.cs";
  const Report first = Execute(Program(attack));
  const Report second = Execute(Program(attack));
  const Report third = Execute(Program(attack));
  EXPECT_EQ(third.compile_hit, true);
  EXPECT_EQ(first.run->out, second.run->out);
  EXPECT_EQ(first.run->out, third.run->out);
  EXPECT_EQ(third.run->out.find("poison"), std::string::npos);
}

TEST_F(CompileStepTest, ADamagedEntryIsCompiledAgain) {
  const std::string first = Execute(Program("cat made")).run->out;
  const fs::path entry = fs::directory_iterator(dir_.path() + "/compiled")->path();
  ASSERT_TRUE(ReplaceFile(entry.string(), "rubbish").ok());
  const Report report = Execute(Program("cat made"));
  EXPECT_EQ(report.compile_hit, false);
  EXPECT_NE(report.run->out, first);
}

TEST_F(CompileStepTest, ACacheThatCannotBeWrittenOnlyCostsTime) {
  fs::remove_all(dir_.path() + "/compiled");
  for (int i = 0; i < 2; ++i) {
    const Report report = Execute(Program("cat made"));
    EXPECT_EQ(report.compile_hit, false);
    EXPECT_EQ(report.run->outcome.exit_code, 0);
  }
}

}  // namespace
}  // namespace polybox::exec
