// Shells with real commands in a real jail.
#include "shells/shells.h"

#include <algorithm>
#include <chrono>
#include <future>

#include "base/testing/await.h"
#include "base/testing/temp_dir.h"
#include "shells/testing/machine_fixture.h"

namespace polybox::shells {
namespace {

using std::chrono::seconds;

constexpr seconds kSoon{60};

class ShellsTest : public testing::MachineFixture {
 protected:
  void SetUp() override {
    MachineFixture::SetUp();
    if (IsSkipped()) return;
    Make({});
  }
  void TearDown() override {
    shells_.reset();
    MachineFixture::TearDown();
  }

  void Make(ShellsOptions options) {
    options.find_directory = [this] { return dir_.path(); };
    shells_ = std::make_unique<Shells>(std::move(options));
  }
  std::shared_ptr<Shell> Start(ShellOptions options, Place place = Place::kBackground) {
    if (options.owner.workspace.empty()) options.owner = Owner{"main", "a"};
    auto shell = shells_->Start(MachineOf("main"), std::move(options), place);
    EXPECT_TRUE(shell.ok()) << shell.error().message();
    return shell.ok() ? shell.value() : nullptr;
  }
  static jail::Outcome End(Shell& shell) {
    const auto outcome = shell.Wait(kSoon);
    EXPECT_TRUE(outcome.has_value());
    return outcome.value_or(jail::Outcome());
  }
  static std::string Text(const Shell& shell, const std::string& stream = "output") {
    const OutputLog* log = shell.FindStream(stream);
    return log == nullptr ? "(no stream)" : ReadOn(*log, 0, 1U << 20U).bytes;
  }

  polybox::testing::TempDir dir_;
  std::unique_ptr<Shells> shells_;
};

TEST_F(ShellsTest, NoOutputIsMissingAfterTheEnd) {
  // The end comes with the last bytes: a reader that stops too early would lose them.
  for (int i = 0; i < 20; ++i) {
    const auto shell = Start({.command = "seq 1 20000; echo err >&2; echo last"});
    EXPECT_EQ(End(*shell).exit_code, 0);
    const std::string text = Text(*shell);
    EXPECT_TRUE(text.ends_with("20000\nerr\nlast\n")) << text.size();
    EXPECT_EQ(std::ranges::count(text, '\n'), 20002);
  }
}

TEST_F(ShellsTest, AChildThatHoldsThePipesDoesNotDelayTheEnd) {
  const auto shell = Start({.command = "sleep 1000 & echo started"});
  EXPECT_EQ(End(*shell).exit_code, 0);
  EXPECT_EQ(Text(*shell), "started\n");
  EXPECT_TRUE(shell->IsAlive());
  EXPECT_TRUE(shell->End().ok());
  EXPECT_FALSE(shell->IsAlive());
  EXPECT_EQ(End(*shell).exit_code, 0) << "what the command itself did stays";
  EXPECT_TRUE(shell->End().ok()) << "nothing is left to end";
}

TEST_F(ShellsTest, AProcessThatWritesIntoTheOutputOfOthersHoldsNobodyUp) {
  const auto other = Start({.command = "exec python3 -c 'import os, socket\n"
                                       "server = socket.socket(socket.AF_UNIX)\n"
                                       "server.bind(\"socket\")\n"
                                       "server.listen(1)\n"
                                       "print(\"ready\", flush=True)\n"
                                       "client = server.accept()[0]\n"
                                       "pipe = socket.recv_fds(client, 1, 1)[1][0]\n"
                                       "client.send(b\"x\")\n"
                                       "[os.fork() for _ in range(3)]\n"
                                       "while True: os.write(pipe, b\"y\" * 65536)'"});
  ASSERT_TRUE(polybox::testing::Await([&] { return Text(*other) == "ready\n"; }));
  auto victim = Start({.command = "exec python3 -c 'import socket\n"
                                  "client = socket.socket(socket.AF_UNIX)\n"
                                  "client.connect(\"socket\")\n"
                                  "socket.send_fds(client, [b\"x\"], [1])\n"
                                  "client.recv(1)'"});
  EXPECT_EQ(End(*victim).exit_code, 0);
  EXPECT_FALSE(victim->IsAlive(kSoon));
  shells_->Forget(victim);
  const auto destroyed = std::async(std::launch::async, [&] { victim.reset(); });
  EXPECT_EQ(destroyed.wait_for(kSoon), std::future_status::ready);
  EXPECT_TRUE(other->End().ok());
}

TEST_F(ShellsTest, TheEndOfAShellEndsDaemonsAndNoOtherShell) {
  const auto other = Start({.command = "read x; echo $x", .input = Input::kOpen});
  const auto shell = Start({.command = "setsid sleep 1000 & (setsid setsid sleep 1000 &); wait"});
  EXPECT_TRUE(shell->End().ok());
  EXPECT_FALSE(shell->IsAlive());
  EXPECT_EQ(End(*shell).end, jail::End::kCancelled);
  EXPECT_TRUE(other->IsAlive());
  EXPECT_TRUE(other->Write("alive\n").ok());
  EXPECT_EQ(End(*other).exit_code, 0);
  EXPECT_EQ(Text(*other), "alive\n");
}

TEST_F(ShellsTest, ATimeoutEndsTheTree) {
  const auto shell = Start(
      {.command = "setsid sleep 1000 & sleep 1000", .timeout = std::chrono::milliseconds(200)});
  const jail::Outcome outcome = End(*shell);
  EXPECT_EQ(outcome.end, jail::End::kTimedOut);
  EXPECT_EQ(ExitCodeOf(outcome), 124);
  EXPECT_FALSE(shell->IsAlive(kSoon));
}

TEST_F(ShellsTest, InputIsNothingATextOrWhatComes) {
  const auto none = Start({.command = "cat; echo end"});
  EXPECT_EQ(End(*none).exit_code, 0);
  EXPECT_EQ(Text(*none), "end\n");
  EXPECT_FALSE(none->Write("x").ok());

  const std::string large(300'000, 'x');
  const auto text = Start({.command = "wc -c", .input = Input::kText, .input_text = large});
  EXPECT_EQ(End(*text).exit_code, 0);
  EXPECT_EQ(Text(*text), "300000\n");

  const auto open = Start({.command = "cat; echo end", .input = Input::kOpen});
  EXPECT_TRUE(open->Write("one\n").ok());
  EXPECT_TRUE(polybox::testing::Await([&] { return Text(*open) == "one\n"; }));
  EXPECT_TRUE(open->CloseInput().ok());
  EXPECT_EQ(End(*open).exit_code, 0);
  EXPECT_EQ(Text(*open), "one\nend\n");
}

TEST_F(ShellsTest, ACommandThatDoesNotReadTakesABoundedInput) {
  const auto shell = Start({.command = "sleep 1000", .input = Input::kOpen});
  const std::string part(256U << 10U, 'x');
  Status status;
  for (int i = 0; i < 10 && status.ok(); ++i) status = shell->Write(part);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message().find("does not read"), std::string::npos);
}

TEST_F(ShellsTest, ACommandThatClosesItsInputEndsNobodyElse) {
  const auto shell = Start({.command = "exec <&-; echo closed; sleep 1000", .input = Input::kOpen});
  EXPECT_TRUE(polybox::testing::Await([&] { return Text(*shell) == "closed\n"; }));
  EXPECT_TRUE(polybox::testing::Await([&] { return !shell->Write("x").ok(); }));
  EXPECT_TRUE(shell->IsAlive());
}

TEST_F(ShellsTest, ATerminalTakesInputAndInterrupts) {
  const auto shell = Start({.command = "stty size; [ -t 0 ] && echo terminal; sleep 1000",
                            .terminal = jail::TerminalSize{}});
  EXPECT_TRUE(polybox::testing::Await([&] { return Text(*shell) == "24 80\r\nterminal\r\n"; }));
  EXPECT_TRUE(shell->Write("\x03").ok());
  EXPECT_EQ(ExitCodeOf(End(*shell)), 130);
}

TEST_F(ShellsTest, StreamsAreSeparateWhenAsked) {
  const auto shell = Start({.command = "echo out; echo err >&2", .streams = Streams::kSeparate});
  EXPECT_EQ(End(*shell).exit_code, 0);
  EXPECT_EQ(Text(*shell, "stdout"), "out\n");
  EXPECT_EQ(Text(*shell, "stderr"), "err\n");
}

TEST_F(ShellsTest, AWatchedCommandIsNeverStuckAndItsEndIsTheLastEvent) {
  const auto shell =
      Start({.command = "echo 'panic: boom' >&2; head -c 3000000 /dev/zero >&2; echo >&2; "
                        "echo 'Error: two' >&2; exit 3",
             .streams = Streams::kSeparate,
             .watching = Watching{.patterns = DefaultErrorPatterns()}});
  EXPECT_EQ(End(*shell).exit_code, 3);
  const auto last_is_exit = [&] {
    return shell->events()->Since(0).back().kind == Event::Kind::kExited;
  };
  EXPECT_TRUE(polybox::testing::Await(last_is_exit));
  std::string texts;
  for (const Event& event : shell->events()->Since(0)) texts += event.text + ";";
  EXPECT_EQ(texts, ";panic: boom;Error: two;exit=3;");
}

TEST_F(ShellsTest, ASilentCommandEndsAtItsIdleTimeout) {
  const auto shell = Start({.command = "setsid sleep 1000 & sleep 1000",
                            .streams = Streams::kSeparate,
                            .watching = Watching{.patterns = {}, .idle_timeout = seconds(1)}});
  EXPECT_FALSE(shell->IsAlive(kSoon));
  EXPECT_TRUE(polybox::testing::Await([&] { return shell->events()->last_id() == 3; }));
  EXPECT_EQ(shell->events()->Since(1).front().kind, Event::Kind::kIdleTimeout);
  EXPECT_EQ(shell->events()->Since(2).front().text, "exit=137");
}

TEST_F(ShellsTest, AHandleIsOnlyForItsOwner) {
  const auto shell = Start({.command = "true"});
  EXPECT_EQ(shell->id().size(), 36U);
  EXPECT_TRUE(shells_->Find({"main", "a"}, shell->id()).ok());
  for (const Owner& stranger : {Owner{"other", "a"}, Owner{"main", "b"}}) {
    EXPECT_EQ(shells_->Find(stranger, shell->id()).error().message(),
              "unknown shell_id: " + shell->id());
    EXPECT_TRUE(shells_->List(stranger).empty());
  }
  const auto later = Start({.command = "true"});
  EXPECT_EQ(shells_->List({"main", "a"}), (std::vector{shell, later}));
}

TEST_F(ShellsTest, TheOldestEndedCommandsExpireAndTheMessageSaysSo) {
  Make({.finished = 2});
  std::vector<std::string> ids;
  const auto running = Start({.command = "sleep 1000"});
  for (int i = 0; i < 4; ++i) {
    const auto shell = Start({.command = "true"});
    EXPECT_FALSE(shell->IsAlive(kSoon));
    ids.push_back(shell->id());
  }
  const auto last = Start({.command = "sleep 1000"});
  const Owner owner{"main", "a"};
  for (std::size_t i = 0; i < ids.size(); ++i) {
    EXPECT_EQ(shells_->Find(owner, ids[i]).ok(), i >= 2) << i;
  }
  EXPECT_EQ(shells_->Find(owner, ids[0]).error().fix(),
            "It has expired: polybox keeps the last 2 ended commands of a workspace");
  EXPECT_EQ(shells_->Find({"main", "b"}, ids[0]).error().fix(), "") << "a stranger learns nothing";
  EXPECT_TRUE(shells_->Find(owner, running->id()).ok()) << "it runs";
}

TEST_F(ShellsTest, TenThousandShellsAreRefusedAtTheLimit) {
  Make({.running = 5, .running_foreground = 2});
  const Owner owner{"main", "a"};
  std::vector<std::shared_ptr<Shell>> running;
  for (int i = 0; i < 5; ++i) running.push_back(Start({.command = "sleep 1000"}));
  int refused = 0;
  for (int i = 0; i < 10'000; ++i) {
    const auto more =
        shells_->Start(MachineOf("main"), {.owner = owner, .command = "true"}, Place::kBackground);
    if (more.ok()) continue;
    ++refused;
    EXPECT_EQ(more.error().message(), "too many running shells: 5 of the workspace run, 5 may");
    EXPECT_EQ(more.error().fix(),
              "End some with KillShell; the oldest is shell_id " + running[0]->id());
  }
  EXPECT_EQ(refused, 10'000);
  EXPECT_EQ(End(*Start({.command = "true"}, Place::kForeground)).exit_code, 0);
  EXPECT_TRUE(running[0]->End().ok());
  EXPECT_EQ(End(*Start({.command = "true"})).exit_code, 0);
}

}  // namespace
}  // namespace polybox::shells
