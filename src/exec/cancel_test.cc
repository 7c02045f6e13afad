// Tests that one cancellation ends a request at every stage: Ticket::Cancel() requests the stop of
// one token, and the stage that the request has reached ends. Each test waits for the stage itself,
// and the answer must come within a bound.
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/testing/temp_dir.h"
#include "compile/compile_cache.h"
#include "exec/testing/engine_fixture.h"
#include "exec/testing/fake_packages.h"

namespace polybox::exec {
namespace {

using testing::BashLanguage;
using testing::Event;
using testing::kBound;
using testing::KindOf;
using testing::SetOnOutput;

/// A program that lives until it is killed, with a descendant in a session of its own. It has
/// nothing else to end it within the bound of a test.
constexpr const char* kEndless = "setsid sleep 3600 & echo begun; sleep 3600";

class CancelTest : public testing::EngineFixture {
 protected:
  void SetUp() override {
    EngineFixture::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    const std::string packages =
        "[packages]\ninstaller = \"none\"\nbinaries = [\"bash\"]\n"
        "install = [\"bash\", \"{target}\", \"{requirements}\"]\nrequirement_form = \"pep508\"\n";
    Load({"bash", "python"},
         {BashLanguage("packaged", packages),
          BashLanguage("compiled", testing::CompilePart("[\"bash\", \"compile.sh\"]")),
          BashLanguage("noted", "", "out_of_memory = [\"no memory\"]\n")});
    cache_ = compile::CompileCache::Open({.directory = dir_.path() + "/compiled"}, log_).value();
    EngineOptions options;
    options.lanes = {{.name = "test", .concurrency = 1, .queue = 50}};
    options.packages = &packages_;
    options.compile_cache = cache_.get();
    ASSERT_EQ(::chmod(commands_.path().c_str(), 0777), 0);
    options.commands = CommandDirectory{commands_.path(), "/app", 65534};
    StartEngine(std::move(options));
  }
  /// The engine uses members of this class.
  void TearDown() override { engine_.reset(); }

  /// Submits the request and cancels it inside the callback that reports `stage`, on the engine's
  /// thread.
  Submitted SubmitAndCancelAt(Stage stage, Request request) {
    auto ticket = std::make_shared<std::promise<std::shared_ptr<Ticket>>>();
    request.on_stage = [stage, ready = ticket->get_future().share()](Stage reached) {
      if (reached == stage) ready.get()->Cancel();
    };
    Submitted submitted = Submit(std::move(request));
    ticket->set_value(submitted.ticket);
    return submitted;
  }

  /// Expects the answer within the bound, and that the engine then runs other requests.
  void ExpectCancelled(Submitted submitted, std::string_view message = "cancelled while running") {
    ASSERT_EQ(submitted.answer.wait_for(kBound), std::future_status::ready);
    const Answer answer = submitted.answer.get();
    ASSERT_EQ(KindOf(answer), RefusalKind::kCancelled);
    EXPECT_EQ(std::get<Refusal>(answer).message, message);
    EXPECT_EQ(Run(ProgramOf("bash", "echo next")).run.value().out, "next\n");
  }

  polybox::testing::TempDir dir_;
  polybox::testing::TempDir commands_;
  testing::FakePackages packages_;
  std::unique_ptr<compile::CompileCache> cache_;
};

TEST_F(CancelTest, InTheQueueOnTheThreadThatCancels) {
  Event begun;
  Request first = ProgramOf("bash", kEndless);
  SetOnOutput(first, "begun", begun);
  Submitted running = Submit(std::move(first));
  ASSERT_TRUE(begun.Await());
  Submitted waiting = Submit(ProgramOf("bash", "echo never"));
  waiting.ticket->Cancel();
  ASSERT_EQ(waiting.answer.wait_for(std::chrono::seconds(0)), std::future_status::ready);
  EXPECT_EQ(std::get<Refusal>(waiting.answer.get()).message, "cancelled while waiting");
  EXPECT_EQ(engine_->Load(0).queued, 0);
  running.ticket->Cancel();
  ExpectCancelled(std::move(running));
}

TEST_F(CancelTest, WhileItsPackagesAreInstalled) {
  Request request = ProgramOf("packaged", "echo never");
  In(request).requirements = {"endless"};
  Event installing;
  request.on_stage = [&](Stage stage) {
    if (stage == Stage::kInstalling) installing.Set();
  };
  Submitted submitted = Submit(std::move(request));
  ASSERT_TRUE(installing.Await());
  submitted.ticket->Cancel();
  ExpectCancelled(std::move(submitted), "cancelled while packages were installed");
}

TEST_F(CancelTest, BeforeTheCompilerRunsAndWhileItRuns) {
  Request request = ProgramOf("compiled", "echo never");
  In(request).files.push_back({"compile.sh", kEndless, 0644});
  ExpectCancelled(SubmitAndCancelAt(Stage::kCompiling, request));
  Event begun;
  SetOnOutput(request, "begun", begun);
  Submitted submitted = Submit(std::move(request));
  ASSERT_TRUE(begun.Await());
  submitted.ticket->Cancel();
  ExpectCancelled(std::move(submitted));
}

TEST_F(CancelTest, BeforeTheGuestRuns) {
  ExpectCancelled(SubmitAndCancelAt(Stage::kRunning, ProgramOf("bash", kEndless)));
}

TEST_F(CancelTest, BeforeAGuestRunsWhoseInterpreterHasStarted) {
  if (catalog_->Find("python") == nullptr) GTEST_SKIP() << "python is not available";
  const Request request = ProgramOf("python", "import time; print('begun'); time.sleep(3600)");
  // The first run makes the slot, whose interpreter starts for the second.
  for (int i = 0; i < 3; ++i) ExpectCancelled(SubmitAndCancelAt(Stage::kRunning, request));
}

TEST_F(CancelTest, WhileTheGuestRuns) {
  for (int i = 0; i < 3; ++i) {
    Event begun;
    Request request = ProgramOf("bash", kEndless);
    SetOnOutput(request, "begun", begun);
    Submitted submitted = Submit(std::move(request));
    ASSERT_TRUE(begun.Await());
    submitted.ticket->Cancel();
    submitted.ticket->Cancel();
    ExpectCancelled(std::move(submitted));
  }
}

TEST_F(CancelTest, ByTheEnginesThreadWhileTheGuestRuns) {
  auto ticket = std::make_shared<std::promise<std::shared_ptr<Ticket>>>();
  Request request = ProgramOf("bash", kEndless);
  request.on_output = [ready = ticket->get_future().share()](StepKind, Stream, std::string_view) {
    ready.get()->Cancel();
  };
  Submitted submitted = Submit(std::move(request));
  ticket->set_value(submitted.ticket);
  ExpectCancelled(std::move(submitted));
}

TEST_F(CancelTest, WhileACommandRuns) {
  Event begun;
  Request request;
  request.work = Command{{"bash", "-c", kEndless}};
  SetOnOutput(request, "begun", begun);
  Submitted submitted = Submit(std::move(request));
  ASSERT_TRUE(begun.Await());
  submitted.ticket->Cancel();
  ExpectCancelled(std::move(submitted));
}

TEST_F(CancelTest, AfterTheProgramEndedAndBeforeItsFilesAreCollected) {
  auto ticket = std::make_shared<std::promise<std::shared_ptr<Ticket>>>();
  Request request = ProgramOf("noted", "echo x > $OUTPUT_DIR/x; echo no memory >&2; exit 1");
  In(request).output_directory = "output";
  // The line about memory follows the output when the program has ended.
  request.on_output = [ready = ticket->get_future().share()](StepKind, Stream,
                                                             std::string_view text) {
    if (text.find("polybox:") != std::string_view::npos) ready.get()->Cancel();
  };
  Submitted submitted = Submit(std::move(request));
  ticket->set_value(submitted.ticket);
  ExpectCancelled(std::move(submitted));
}

TEST_F(CancelTest, ARequestThatHasEndedStaysAsItIs) {
  Submitted submitted = Submit(ProgramOf("bash", "echo ran"));
  ASSERT_EQ(submitted.answer.wait_for(kBound), std::future_status::ready);
  submitted.ticket->Cancel();
  EXPECT_EQ(std::get<Report>(submitted.answer.get()).run.value().out, "ran\n");
  EXPECT_EQ(Run(ProgramOf("bash", "echo next")).run.value().out, "next\n");
}

TEST_F(CancelTest, ByTheEndOfTheEngineWhereverTheRequestsAre) {
  Event begun;
  Request first = ProgramOf("bash", kEndless);
  SetOnOutput(first, "begun", begun);
  Submitted running = Submit(std::move(first));
  ASSERT_TRUE(begun.Await());
  Submitted waiting = Submit(ProgramOf("bash", "echo never"));
  engine_.reset();
  EXPECT_EQ(KindOf(running.answer.get()), RefusalKind::kCancelled);
  EXPECT_EQ(KindOf(waiting.answer.get()), RefusalKind::kCancelled);
  running.ticket->Cancel();
}

TEST_F(CancelTest, FromManyThreadsWhileRequestsBeginAndEnd) {
  // Cancellation meets every moment of short programs: in the queue, at the start and at the end.
  std::vector<Submitted> all;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 40; ++i) {
    Submitted submitted = Submit(ProgramOf("bash", "echo ran"));
    threads.emplace_back([ticket = submitted.ticket] { ticket->Cancel(); });
    all.push_back(std::move(submitted));
  }
  threads.clear();
  for (Submitted& each : all) {
    ASSERT_EQ(each.answer.wait_for(kBound), std::future_status::ready);
    each.answer.get();
  }
  EXPECT_TRUE(engine_->AwaitIdle(kBound));
  EXPECT_EQ(Run(ProgramOf("bash", "echo next")).run.value().out, "next\n");
}

}  // namespace
}  // namespace polybox::exec
