// Tests of the engine with real slots (testing/engine_fixture.h). Cancellation has its own tests in
// cancel_test.cc.
#include "exec/engine.h"

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <set>

#include <gtest/gtest.h>
#include <sys/prctl.h>

#include "exec/testing/engine_fixture.h"
#include "exec/testing/fake_packages.h"

namespace polybox::exec {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::BashLanguage;
using testing::FakePackages;
using testing::HeldScript;
using testing::KindOf;

/// The part of a language file that makes a language take packages.
constexpr std::string_view kPackages = R"([packages]
installer = "none"
binaries = ["bash"]
install = ["bash", "{target}", "{requirements}"]
requirement_form = "pep508"
[packages.env]
SET = "{packages}"
)";

/// A language that shows a single file which is too large to be copied: the test's own executable.
std::string Sharing() {
  const std::string own = std::filesystem::read_symlink("/proc/self/exe").string();
  return BashLanguage("public", "", "read_only = [\"" + own + "\"]\n");
}

/// A language that takes packages only if an operator enables them; otherwise it ignores them.
std::string OptIn() {
  return BashLanguage("preferred",
                      std::string(kPackages) +
                          "[packages.requests]\nopt_in = true\ninstall = [\"bash\", \"{target}\", "
                          "\"{requirements}\"]\nfiles = [\"list\"]\n[packages.requests.env]\n"
                          "OWN = \"{packages}\"\n");
}

/// A language whose interpreter fails if it is started before a program arrives.
std::string BrokenAhead(const std::string& kind) {
  return BashLanguage(kind, "[warm]\nkind = \"" + kind +
                                "\"\ncommand = [\"{executable}\", \"{warm}\"]\n"
                                "program = \"echo mine; exit 7\"\n");
}

/// The programs are mostly shell scripts, because the engine treats all languages alike.
class EngineTest : public testing::EngineFixture {
 protected:
  void SetUp() override {
    EngineFixture::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    Load({"bash", "python"}, {BashLanguage("packaged", kPackages), OptIn(), Sharing(),
                              BrokenAhead("zygote"), BrokenAhead("prestart")});
  }

  void Start(Lane lane = {.name = "test", .concurrency = 2, .queue = 10}) {
    EngineOptions options;
    options.lanes = {std::move(lane)};
    options.packages = packages_;
    options.requirements_for = requirements_for_;
    options.on_shared = [this](const std::string& what) {
      const std::lock_guard lock(mutex_);
      shared_.push_back(what);
    };
    StartEngine(std::move(options));
  }

  static Request Script(std::string code, std::string client = "someone") {
    Request request = ProgramOf("bash", std::move(code));
    request.client = std::move(client);
    return request;
  }

  static Request WithPackages(std::string code, std::string requirement) {
    Request request = ProgramOf("packaged", std::move(code));
    In(request).requirements = {std::move(requirement)};
    return request;
  }

  packages::PackageSource* packages_ = nullptr;
  std::set<std::string> requirements_for_;
  std::mutex mutex_;
  std::vector<std::string> shared_;
};

TEST_F(EngineTest, AnInterpreterThatCannotBeStartedAheadIsStartedWithItsProgram) {
  Start();
  for (const char* language : {"zygote", "prestart"}) {
    for (int i = 0; i < 6; ++i) {
      const Report report = Run(ProgramOf(language, "echo theirs; exit 3"));
      ASSERT_TRUE(report.run.has_value());
      EXPECT_EQ(report.run->out, "theirs\n") << language;
      EXPECT_EQ(report.run->outcome.exit_code, 3);
      EXPECT_FALSE(report.warm);
    }
  }
}

TEST_F(EngineTest, TheZygoteIsNeitherCountedNorSeenByItsGuests) {
  int* number = nullptr;
  if (::prctl(PR_GET_TID_ADDRESS, &number) != 0) {
    GTEST_SKIP() << "on cgroup v2 a kernel without CHECKPOINT_RESTORE counts it";
  }
  Start({.name = "test", .concurrency = 1, .queue = 10});
  // The C library's locks use its own record of the thread's id, so it must be correct after the
  // fork.
  constexpr const char* kCode =
      "import os, threading\n"
      "lock = threading.RLock()\n"
      "with lock, lock: print(os.getpid(), os.getppid(), threading.get_native_id())\n";
  int warm = 0;
  for (int i = 0; i < 8; ++i) {
    Request request = ProgramOf("python", kCode);
    if (i == 5) In(request).files[0].content += "if os.fork() == 0: os._exit(0)\nos.wait()\n";
    const Report report = Run(std::move(request));
    ASSERT_TRUE(report.run.has_value());
    EXPECT_EQ(report.run->out, "2 1 2\n") << report.run->err;
    const auto peak = report.run->outcome.processes_peak;
    if (!peak && i == 0) GTEST_SKIP() << "this kernel has no pids.peak";
    EXPECT_EQ(peak, i == 5 ? 2 : 1) << "run " << i << (report.warm ? ", warm" : "");
    warm += report.warm ? 1 : 0;
  }
  EXPECT_GT(warm, 4);
}

// Each run changes its namespaces. They are replaced after it, and the zygote must enter the new
// ones.
TEST_F(EngineTest, ForkedGuestsAreInTheNewNamespacesOfTheirSlot) {
  Start({.name = "test", .concurrency = 1, .queue = 10});
  constexpr const char* kCode =
      "import ctypes, socket\n"
      "print(len(list(open('/proc/sysvipc/sem'))), ctypes.CDLL(None).semget(0, 1, 0o1600))\n"
      "print(*[line for line in open('/proc/net/snmp') if line[:3] == 'Ip:'])\n"
      "try: socket.create_connection(('192.0.2.1', 9))\n"
      "except OSError as error: print(error.strerror)\n";
  const std::string first = Run(ProgramOf("python", kCode)).run.value().out;
  EXPECT_EQ(first.find("1 "), 0U) << first;
  EXPECT_NE(first.find("Network is unreachable"), std::string::npos) << first;
  int warm = 0;
  for (int i = 0; i < 8; ++i) {
    const Report report = Run(ProgramOf("python", kCode));
    EXPECT_EQ(report.run.value().out, first) << report.run->err;
    warm += report.warm ? 1 : 0;
  }
  EXPECT_GT(warm, 4);
}

TEST_F(EngineTest, ARunAnswersWithAllThatItDid) {
  Start();
  Request request = Script(
      "read line; echo \"$line $1 $WORD\"; echo oops >&2; mkdir $OUTPUT_DIR/d; echo data > "
      "$OUTPUT_DIR/d/f; exit 3");
  request.input = "hello\n";
  In(request).args = {"there"};
  In(request).env = {{"WORD", "world"}};
  In(request).output_directory = "output";
  request.wants_combined = true;
  const Report report = Run(std::move(request));
  ASSERT_TRUE(report.run.has_value());
  EXPECT_FALSE(report.compile.has_value());
  EXPECT_EQ(report.run->out, "hello there world\n");
  EXPECT_EQ(report.run->err, "oops\n");
  EXPECT_EQ(report.run->combined.size(), report.run->out.size() + report.run->err.size());
  EXPECT_EQ(report.run->outcome.exit_code, 3);
  ASSERT_EQ(report.artifacts.size(), 1U);
  EXPECT_EQ(report.artifacts[0].path, "d/f");
  EXPECT_EQ(report.artifacts[0].content, "data\n");
  EXPECT_EQ(report.isolation, jail::Grade::kFull);
}

TEST_F(EngineTest, NothingOfOneRequestIsThereForTheNext) {
  Start({.name = "one", .concurrency = 1, .queue = 10});
  for (int i = 0; i < 5; ++i) {
    const Report report = Run(Script("ls -A . /tmp /dev/shm; touch left /tmp/left /dev/shm/left"));
    EXPECT_EQ(report.run->out, ".:\nscript\n\n/dev/shm:\n\n/tmp:\n");
  }
}

TEST_F(EngineTest, OutputPastItsLimitIsCutOrEndsTheRun) {
  Start();
  Request request = Script("printf %0200d 7; echo x >&2; exit 4");
  request.run.output = Bytes(40);
  Report report = Run(request);
  EXPECT_TRUE(report.run->out_truncated);
  EXPECT_FALSE(report.run->err_truncated);
  EXPECT_EQ(report.run->outcome.exit_code, 4) << "it went on to its end";
  request.output_rule = OutputRule::kEndRun;
  report = Run(request);
  EXPECT_EQ(report.run->outcome.end, jail::End::kOutputLimit);
}

TEST_F(EngineTest, ARequestWithoutPlaceOrRoomInTheQueueIsRefusedAtOnce) {
  Start({.name = "one", .concurrency = 1, .queue = 1});
  HeldGuest running = Hold(Script(HeldScript()));
  Submitted waiting = Submit(Script("echo second"));
  // The answer is there although the running program still holds the only place.
  const Answer third = Ask(Script("echo third"));
  EXPECT_EQ(KindOf(third), RefusalKind::kBusy);
  EXPECT_EQ(std::get<Refusal>(third).load, 3);
  running.Release();
  EXPECT_EQ(ReportOf(waiting.answer.get()).run->out, "second\n");
  EXPECT_EQ(ReportOf(running.submitted.answer.get()).run->out, "begun\n");
}

TEST_F(EngineTest, AClientsQueueDoesNotHoldUpAnotherClient) {
  Start({.name = "one", .concurrency = 1, .queue = 100});
  HeldGuest first = Hold(Script(HeldScript(), "many"));
  std::mutex mutex;
  std::vector<std::string> order;
  const auto noted = [&](const std::string& client) {
    Request request = Script("true", client);
    request.on_stage = [&, client](Stage stage) {
      const std::lock_guard lock(mutex);
      if (stage == Stage::kRunning) order.push_back(client);
    };
    return request;
  };
  std::vector<Submitted> submitted;
  for (int i = 0; i < 10; ++i) submitted.push_back(Submit(noted("many")));
  submitted.push_back(Submit(noted("other")));
  first.Release();
  for (Submitted& each : submitted) ReportOf(each.answer.get());
  ASSERT_EQ(order.size(), submitted.size());
  EXPECT_LT(std::ranges::find(order, "other") - order.begin(), 2)
      << ::testing::PrintToString(order);
}

TEST_F(EngineTest, PatienceEndsInTheQueue) {
  Start({.name = "one", .concurrency = 1, .queue = 5});
  HeldGuest running = Hold(Script(HeldScript()));
  Request impatient = Script("true");
  impatient.patience = milliseconds(100);
  EXPECT_EQ(KindOf(Ask(std::move(impatient))), RefusalKind::kQueueTimeout);
  running.Release();
  ReportOf(running.submitted.answer.get());
}

TEST_F(EngineTest, DrainingRefusesTheNewAndFinishesTheOld) {
  Start();
  HeldGuest running = Hold(Script(HeldScript("echo done")));
  engine_->Drain();
  EXPECT_EQ(KindOf(Ask(Script("true"))), RefusalKind::kDraining);
  EXPECT_FALSE(engine_->AwaitIdle(milliseconds(10)));
  running.Release();
  EXPECT_TRUE(engine_->AwaitIdle(seconds(30)));
  EXPECT_EQ(ReportOf(running.submitted.answer.get()).run->out, "begun\ndone\n");
}

TEST_F(EngineTest, ARequestThatCannotRunIsRefusedWithItsReason) {
  Start();
  EXPECT_EQ(KindOf(Ask(ProgramOf("klingon", "true"))), RefusalKind::kUnavailable);
  Request command;
  command.work = Command{{"true"}};
  EXPECT_EQ(KindOf(Ask(std::move(command))), RefusalKind::kUnavailable);
}

TEST_F(EngineTest, DirectoriesThatSlotsShareWithTheHostAreReportedOnce) {
  Start();
  const Request request = ProgramOf("public", "echo ran");
  Submitted first = Submit(request);
  Submitted second = Submit(request);
  EXPECT_TRUE(std::holds_alternative<Report>(first.answer.get()));
  EXPECT_TRUE(std::holds_alternative<Report>(second.answer.get()));
  engine_.reset();
  const std::string own = std::filesystem::read_symlink("/proc/self/exe").string();
  EXPECT_EQ(std::ranges::count_if(
                shared_, [&](const auto& what) { return what.find(own) != std::string::npos; }),
            1)
      << ::testing::PrintToString(shared_);
}

TEST_F(EngineTest, AModeWithoutAnInstallerIgnoresRequirementsAndSaysSo) {
  FakePackages packages;
  packages_ = &packages;
  Start();
  Request request = Script("echo ran");
  In(request).requirements = {"six", "--no such thing"};
  const Report report = Run(std::move(request));
  EXPECT_EQ(report.run->out, "ran\n");
  EXPECT_EQ(report.requirements_ignored, (std::vector<std::string>{"six", "--no such thing"}));
  EXPECT_EQ(report.install_failure, std::nullopt);
  EXPECT_EQ(report.install, Duration{});
  EXPECT_EQ(packages.asked, 0);
}

TEST_F(EngineTest, AnyOtherLanguageWithoutAnInstallerRefusesThemAndNamesThoseThatHaveOne) {
  FakePackages packages;
  packages_ = &packages;
  Start();
  Request request = WithPackages("echo ran", "six");
  In(request).language = "public";
  const Answer answer = Ask(request);
  ASSERT_EQ(KindOf(answer), RefusalKind::kInvalid);
  EXPECT_EQ(std::get<Refusal>(answer).message,
            "requirements: Public installs no packages on request (those that do here: packaged, "
            "python; preferred if the setting requirements-for names it)");
}

TEST_F(EngineTest, WithoutAPlaceForPackagesInstallingFails) {
  Start();
  const Report report = Run(WithPackages("echo ran", "six"));
  EXPECT_EQ(report.install_failure,
            "polybox: the server has no directory in which packages can be kept");
  EXPECT_FALSE(report.run.has_value());
}

TEST_F(EngineTest, RequirementsThatAreIgnoredByDefaultAreInstalledForWhoWantsThem) {
  FakePackages packages;
  packages_ = &packages;
  packages.directory.Write("list", "of the set\n");
  Request request = WithPackages("cat list; echo $OWN $SET", "six");
  In(request).language = "preferred";
  Start();
  EXPECT_EQ(Run(request).run->out, "\n");
  EXPECT_EQ(packages.asked, 0);
  requirements_for_ = {"preferred"};
  Start();
  EXPECT_EQ(Run(request).run->out, "of the set\n/packages\n");
  EXPECT_EQ(packages.asked, 1);
}

TEST_F(EngineTest, ARunSeesThePackagesThatItAskedFor) {
  FakePackages packages;
  packages_ = &packages;
  packages.directory.Write("six", "content");
  Start();
  Request request = WithPackages("echo $SET; cat $SET/six", "six");
  In(request).install_time = seconds(7);
  EXPECT_EQ(Run(request).run->out, "/packages\ncontent");
  EXPECT_EQ(packages.time.load(), seconds(7));
  EXPECT_EQ(KindOf(Ask(WithPackages("true", "refused"))), RefusalKind::kInvalid);
  const Report failed = Run(WithPackages("echo ran", "fails"));
  EXPECT_EQ(failed.install_failure, "exit status 1: sorry");
  EXPECT_FALSE(failed.run.has_value());
}

TEST_F(EngineTest, ASetStaysForAsLongAsASlotShowsIt) {
  FakePackages packages;
  packages_ = &packages;
  Start();
  Run(WithPackages("true", "six"));
  // The slot is reset only after the answer.
  ASSERT_TRUE(engine_->AwaitIdle(seconds(30)));
  EXPECT_GT(packages.lease.use_count(), 1);
  engine_.reset();
  EXPECT_EQ(packages.lease.use_count(), 1);
}

}  // namespace
}  // namespace polybox::exec
