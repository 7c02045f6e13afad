// Tests of compile steps with real slots. The compiled language is made of Bash: its compile step
// runs a script of the program.
#include "compile/compile_step.h"

#include <filesystem>
#include <mutex>
#include <set>

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/testing/await.h"
#include "base/testing/temp_dir.h"
#include "exec/testing/engine_fixture.h"

namespace polybox::exec {
namespace {

namespace fs = std::filesystem;

/// Prints other numbers each time. Equal output therefore means that the compile step ran only
/// once.
constexpr const char* kCompile =
    "date +%s.%N > made; echo out; echo warning: $RANDOM$RANDOM >&2; echo x > /tmp/left\n";

class CompileStepTest : public testing::EngineFixture {
 protected:
  void SetUp() override {
    EngineFixture::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    const std::string compile =
        testing::CompilePart("[\"bash\", \"compile.sh\"]", "changing_words = [\"NOW\"]\n");
    Load({}, {testing::BashLanguage("compiled", compile)});
    cache_ = compile::CompileCache::Open({.directory = dir_.path() + "/compiled"}, log_).value();
    Start();
  }

  /// Starts an engine that uses `cache_`.
  void Start() {
    EngineOptions options;
    options.lanes = {{.name = "test", .concurrency = 4, .queue = 20}};
    options.compile_cache = cache_.get();
    StartEngine(std::move(options));
  }

  static Request Sources(std::string script, std::string compile = kCompile) {
    Request request = ProgramOf("compiled", std::move(script));
    In(request).files.push_back({"compile.sh", std::move(compile), 0644});
    return request;
  }

  polybox::testing::TempDir dir_;
  std::unique_ptr<compile::CompileCache> cache_;
};

TEST_F(CompileStepTest, AHitIsWhatTheCompilerDidInEveryResult) {
  const std::string look = "cat made; ls -lAn --time-style=+ . /tmp; stat -c '%a %u %s %F' *";
  const Report first = Run(Sources(look));
  const Report second = Run(Sources(look));
  EXPECT_EQ(first.compile_hit, false);
  EXPECT_EQ(second.compile_hit, true);
  EXPECT_EQ(first.run->out, second.run->out);
  EXPECT_EQ(first.compile->out, "out\n");
  EXPECT_EQ(first.compile->out, second.compile->out);
  EXPECT_EQ(first.compile->err, second.compile->err);
  EXPECT_EQ(first.compile->outcome.memory_peak, second.compile->outcome.memory_peak);
  EXPECT_EQ(second.compile->outcome.end, jail::End::kExited);
  // A file that the compiler wrote outside the working directory must not reach the program.
  EXPECT_EQ(first.run->out.find("left"), std::string::npos);
}

TEST_F(CompileStepTest, OutputIsKeptInItsOrderAndStreamedOnAHitToo) {
  // Each part is written after the reader has emptied the pipe of the part before.
  const std::string drained =
      "drained() { python3 -c 'import array, fcntl, sys, termios, time\n"
      "left = array.array(\"i\", [1])\n"
      "while left[0]:\n  fcntl.ioctl(int(sys.argv[1]), termios.FIONREAD, left)' $1; }\n";
  Request request =
      Sources("echo ran", drained + "echo one; drained 1; echo two >&2; drained 2; echo three");
  request.wants_combined = true;
  std::string streamed;
  request.on_output = [&](StepKind, Stream, std::string_view text) { streamed += text; };
  const Report first = Run(request);
  const std::string live = std::exchange(streamed, "");
  const Report second = Run(request);
  EXPECT_EQ(second.compile_hit, true);
  EXPECT_EQ(first.compile->combined, "one\ntwo\nthree\n");
  EXPECT_EQ(second.compile->combined, "one\ntwo\nthree\n");
  EXPECT_EQ(live, streamed);
}

TEST_F(CompileStepTest, AnotherServerFindsIt) {
  const Report first = Run(Sources("cat made"));
  cache_ = compile::CompileCache::Open({.directory = dir_.path() + "/compiled"}, log_).value();
  Start();
  const Report second = Run(Sources("cat made"));
  EXPECT_EQ(second.compile_hit, true);
  EXPECT_EQ(first.run->out, second.run->out);
}

TEST_F(CompileStepTest, ADifferentProgramIsCompiledAgain) {
  const std::string first = Run(Sources("cat made")).run->out;
  Request other_limit = Sources("cat made");
  In(other_limit).compile.memory = Bytes::MiB(64);
  Request other_file = Sources("cat made");
  In(other_file).files.push_back({"more", "", 0644});
  Request with_directory = Sources("cat made");
  In(with_directory).output_directory = "output";
  for (Request& request : std::vector{other_limit, other_file, with_directory,
                                      Sources("cat made #"), Sources("cat made", "date > made")}) {
    const Report report = Run(std::move(request));
    EXPECT_EQ(report.compile_hit, false);
    EXPECT_NE(report.run->out, first);
  }
  // Arguments and variables that only the program sees do not require a new compilation.
  Request other_run = Sources("cat made; echo $A$1");
  Run(other_run);
  In(other_run).env = {{"A", "B"}};
  In(other_run).args = {"C"};
  other_run.input = "D";
  const Report report = Run(other_run);
  EXPECT_EQ(report.compile_hit, true);
  EXPECT_TRUE(report.run->out.ends_with("BC\n")) << report.run->out;
}

TEST_F(CompileStepTest, FailuresAreNotKept) {
  const std::string compile = "echo $RANDOM$RANDOM; exit 1";
  const Report first = Run(Sources("echo never", compile));
  const Report second = Run(Sources("echo never", compile));
  EXPECT_EQ(second.compile_hit, false);
  EXPECT_EQ(second.compile->outcome.exit_code, 1);
  EXPECT_FALSE(second.run.has_value());
  EXPECT_NE(first.compile->out, second.compile->out);
  EXPECT_TRUE(fs::is_empty(dir_.path() + "/compiled"));
}

TEST_F(CompileStepTest, OutputThatIsNoPlainFileIsRunAndNotKept) {
  const Request request =
      Sources("readlink link; cat /tmp/left", "ln -s /etc link; echo x >/tmp/left");
  Run(request);
  const Report second = Run(request);
  EXPECT_EQ(second.compile_hit, false);
  EXPECT_EQ(second.run->out, "/etc\nx\n");
  EXPECT_TRUE(fs::is_empty(dir_.path() + "/compiled"));
}

TEST_F(CompileStepTest, AWordThatChangesByItselfIsNotAskedFor) {
  const Report report = Run(Sources("cat made # NOW"));
  EXPECT_FALSE(report.compile_hit.has_value());
  EXPECT_TRUE(fs::is_empty(dir_.path() + "/compiled"));
}

TEST_F(CompileStepTest, ARequestWithLessTimeThanTheCompilerTookGetsNoHit) {
  Run(Sources("cat made", "sleep 0.3; echo > made"));
  Request hasty = Sources("cat made", "sleep 0.3; echo > made");
  In(hasty).compile.wall_time = std::chrono::milliseconds(100);
  const Report report = Run(std::move(hasty));
  EXPECT_EQ(report.compile_hit, false);
  EXPECT_EQ(report.compile->outcome.end, jail::End::kTimedOut);
}

TEST_F(CompileStepTest, ARequestWithLessOutputThanTheCompilerWroteGetsNoHit) {
  Request request = Sources("true", "printf %01000d 0");
  EXPECT_EQ(Run(request).compile_hit, false);
  EXPECT_EQ(Run(request).compile_hit, true);
  request.output_rule = OutputRule::kEndRun;
  In(request).compile.output = Bytes(500);
  const Report report = Run(request);
  EXPECT_EQ(report.compile_hit, false);
  EXPECT_EQ(report.compile->outcome.end, jail::End::kOutputLimit);
  // A limit that only cuts the output does not prevent a hit.
  request.output_rule = OutputRule::kTruncate;
  const Report cut = Run(request);
  EXPECT_EQ(cut.compile_hit, true);
  EXPECT_TRUE(cut.compile->out_truncated);
}

TEST_F(CompileStepTest, AsManyAtOnceAreCompiledOnce) {
  // The engine sees the end of the first compile step only after this callback has returned, and
  // then all places of the lane are taken.
  std::once_flag first;
  Request request = Sources("cat made", "echo begun; date +%N > made");
  request.on_output = [&](StepKind kind, Stream, std::string_view) {
    if (kind != StepKind::kCompile) return;
    std::call_once(first, [&] {
      EXPECT_TRUE(polybox::testing::Await([&] { return engine_->Load(0).running == 4; }));
    });
  };
  std::vector<Submitted> submitted;
  for (int i = 0; i < 8; ++i) submitted.push_back(Submit(request));
  std::set<std::string> made;
  int misses = 0;
  for (Submitted& each : submitted) {
    const Report report = ReportOf(each.answer.get());
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
  const Report first = Run(Sources(attack));
  const Report second = Run(Sources(attack));
  const Report third = Run(Sources(attack));
  EXPECT_EQ(third.compile_hit, true);
  EXPECT_EQ(first.run->out, second.run->out);
  EXPECT_EQ(first.run->out, third.run->out);
  EXPECT_EQ(third.run->out.find("poison"), std::string::npos);
}

TEST_F(CompileStepTest, ADamagedEntryIsCompiledAgain) {
  const std::string first = Run(Sources("cat made")).run->out;
  const fs::path entry = fs::directory_iterator(dir_.path() + "/compiled")->path();
  ASSERT_TRUE(ReplaceFile(entry.string(), "rubbish").ok());
  const Report report = Run(Sources("cat made"));
  EXPECT_EQ(report.compile_hit, false);
  EXPECT_NE(report.run->out, first);
}

TEST_F(CompileStepTest, ACacheThatCannotBeWrittenOnlyCostsTime) {
  fs::remove_all(dir_.path() + "/compiled");
  for (int i = 0; i < 2; ++i) {
    const Report report = Run(Sources("cat made"));
    EXPECT_EQ(report.compile_hit, false);
    EXPECT_EQ(report.run->outcome.exit_code, 0);
  }
}

}  // namespace
}  // namespace polybox::exec
