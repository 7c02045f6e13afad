// The engine with real slots: these tests need what grade full needs, and skip with the reason
// elsewhere.
#include "exec/engine.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <future>
#include <mutex>
#include <set>
#include <sstream>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>
#include <sys/prctl.h>

#include "base/testing/temp_dir.h"
#include "languages/builtin.h"

namespace polybox::exec {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// A language that takes packages: Bash again.
constexpr std::string_view kPackaged = R"(
id = "packaged"
name = "Packaged"
extensions = [".pk"]
[toolchain]
binaries = ["bash"]
version = ["{executable}", "--version"]
[entry]
file = "script.pk"
[run]
command = ["{executable}", "{entry}"]
[run.limits]
address_space = "512MiB"
open_files = 64
processes = 32
[packages]
installer = "none"
binaries = ["bash"]
install = ["bash", "{target}", "{requirements}"]
requirement_form = "pep508"
[packages.env]
SET = "{packages}"
[image]
apt = ["bash"]
)";

/// A language that shows a single file too large to be copied: ourselves. Bash again.
std::string Sharing() {
  std::string file(kPackaged.substr(0, kPackaged.find("[packages]")));
  for (std::size_t at = 0; (at = file.find("ackaged", at)) != std::string::npos; at += 7) {
    file.replace(at, 7, "ublic");
  }
  file.replace(file.find(".pk"), 3, ".pu");
  const std::string line =
      "read_only = [\"" + std::filesystem::read_symlink("/proc/self/exe").string() + "\"]\n";
  file.insert(file.find("[run.limits]"), line);
  return file + "[image]\napt = [\"bash\"]\n";
}

/// The same with requirements that are ignored unless an operator wants them.
std::string OptIn() {
  std::string file(kPackaged);
  for (std::size_t at = 0; (at = file.find("ackaged", at)) != std::string::npos; at += 7) {
    file.replace(at, 7, "referred");
  }
  file.replace(file.find(".pk"), 3, ".pr");
  return file +
         "[packages.requests]\nopt_in = true\ninstall = [\"bash\", \"{target}\", "
         "\"{requirements}\"]\nfiles = [\"list\"]\n[packages.requests.env]\nOWN = "
         "\"{packages}\"\n";
}

/// A language whose interpreter comes to nothing when it is started ahead: Bash again.
std::string BrokenAhead(const std::string& kind) {
  std::string file(kPackaged.substr(0, kPackaged.find("[packages]")));
  for (const char* word : {"packaged", "Packaged", ".pk"}) {
    for (std::size_t at = file.find(word); at != std::string::npos; at = file.find(word)) {
      file.replace(at, std::string_view(word).size(), word[0] == '.' ? "." + kind : kind);
    }
  }
  return file + "[warm]\nkind = \"" + kind +
         "\"\ncommand = [\"{executable}\", \"{warm}\"]\nprogram = \"echo mine; exit 7\"\n"
         "[image]\napt = [\"bash\"]\n";
}

/// Package sets without an installer; an answer per requirement.
class FakePackages : public PackageSource {
 public:
  FakePackages() { std::filesystem::permissions(directory.path(), std::filesystem::perms(0755)); }

  Result<PackageSet> Get(const Installation& installation,
                         const std::vector<std::string>& requirements,
                         const PackageTerms& terms) override {
    EXPECT_TRUE(installation.language.packages.has_value());
    ++asked;
    time = terms.time;
    if (requirements[0] == "refused") return Error(ErrorKind::kInvalid, "no such name");
    if (requirements[0] == "fails") return Error(ErrorKind::kSystem, "exit status 1: sorry");
    for (int i = 0; i < 3000 && requirements[0] == "slow"; ++i) {
      if (terms.cancel.stop_requested()) return Error(ErrorKind::kSystem, "signal: killed: ");
      std::this_thread::sleep_for(milliseconds(10));
    }
    return PackageSet{directory.path(), lease};
  }

  testing::TempDir directory;
  std::shared_ptr<int> lease = std::make_shared<int>();
  std::atomic<int> asked = 0;
  std::atomic<Duration> time{};
};

/// Mostly shell scripts: the engine does not care.
class EngineTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "grade full needs root";
    std::vector<EmbeddedFile> files;
    for (const EmbeddedFile& file : languages::BuiltinFiles()) {
      const bool wanted =
          file.name == "bash.toml" || file.name == "python.toml" || file.name == "defaults.toml";
      if (wanted) files.push_back(file);
    }
    files.push_back({"packaged.toml", kPackaged});
    files.push_back({"opt_in.toml", opt_in_});
    files.push_back({"sharing.toml", sharing_});
    files.push_back({"zygote.toml", zygote_});
    files.push_back({"prestart.toml", prestart_});
    auto registry = languages::Registry::Load(files, {});
    ASSERT_TRUE(registry.ok()) << registry.error().message();
    registry_.emplace(std::move(registry).value());
    catalog_.emplace(*registry_, languages::FinderOptions{"/usr/bin:/bin", "", "/nowhere"}, log_);
    auto home = JailHome::Make(jail::Grade::kFull);
    ASSERT_TRUE(home.ok()) << home.error().message();
    home_.emplace(std::move(home).value());
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
    engine_ = MakeEngine(*catalog_, *home_, std::move(options));
  }

  static Request Script(std::string code, std::string client = "someone") {
    Request request;
    request.client = std::move(client);
    request.language = "bash";
    request.files = {{"script.sh", std::move(code), 0644}};
    return request;
  }

  static Request InPython(std::string code) {
    Request request = Script(std::move(code));
    request.language = "python";
    request.files[0].name = "script.py";
    return request;
  }

  static Request WithPackages(std::string code, std::string requirement) {
    Request request = Script(std::move(code));
    request.language = "packaged";
    request.requirements = {std::move(requirement)};
    return request;
  }

  struct Submitted {
    std::shared_ptr<Ticket> ticket;
    std::future<Answer> answer;
  };

  Submitted Submit(Request request) {
    auto promise = std::make_shared<std::promise<Answer>>();
    Submitted submitted;
    submitted.answer = promise->get_future();
    submitted.ticket = engine_->Submit(
        std::move(request), [promise](Answer answer) { promise->set_value(std::move(answer)); });
    return submitted;
  }

  Answer Ask(Request request) { return Submit(std::move(request)).answer.get(); }
  Report Run(Request request) {
    const Answer answer = Ask(std::move(request));
    if (const auto* refusal = std::get_if<Refusal>(&answer)) {
      ADD_FAILURE() << refusal->message;
      return {};
    }
    return std::get<Report>(answer);
  }

  const std::string opt_in_ = OptIn();
  const std::string sharing_ = Sharing();
  const std::string zygote_ = BrokenAhead("zygote");
  const std::string prestart_ = BrokenAhead("prestart");
  std::ostringstream lines_;
  log::Logger log_ = log::Logger::ToStream(lines_, {});
  std::optional<languages::Registry> registry_;
  std::optional<Catalog> catalog_;
  std::optional<JailHome> home_;
  PackageSource* packages_ = nullptr;
  std::set<std::string> requirements_for_;
  std::mutex mutex_;
  std::vector<std::string> shared_;
  std::shared_ptr<Executor> engine_;
};

RefusalKind KindOf(const Answer& answer) {
  const auto* refusal = std::get_if<Refusal>(&answer);
  EXPECT_NE(refusal, nullptr) << "it was run";
  return refusal == nullptr ? RefusalKind::kFailed : refusal->kind;
}

TEST_F(EngineTest, AnInterpreterThatCannotBeStartedAheadIsStartedWithItsProgram) {
  Start();
  for (const char* language : {"zygote", "prestart"}) {
    for (int i = 0; i < 6; ++i) {
      Request request = Script("echo theirs; exit 3");
      request.language = language;
      const Report report = Run(std::move(request));
      ASSERT_TRUE(report.run.has_value());
      EXPECT_EQ(report.run->out, "theirs\n") << language;
      EXPECT_EQ(report.run->outcome.exit_code, 3);
      EXPECT_FALSE(report.warm);
    }
  }
}

TEST_F(EngineTest, WhoForksAnInterpreterIsNeitherCountedNorSeen) {
  int* number = nullptr;
  if (::prctl(PR_GET_TID_ADDRESS, &number) != 0) {
    GTEST_SKIP() << "on cgroup v2 a kernel without CHECKPOINT_RESTORE counts it";
  }
  Start({.name = "test", .concurrency = 1, .queue = 10});
  // What the C library believes its thread to be is what its locks go by.
  constexpr const char* kCode =
      "import os, threading\n"
      "lock = threading.RLock()\n"
      "with lock, lock: print(os.getpid(), os.getppid(), threading.get_native_id())\n";
  int warm = 0;
  for (int i = 0; i < 8; ++i) {
    Request request = InPython(kCode);
    if (i == 5) request.files[0].content += "if os.fork() == 0: os._exit(0)\nos.wait()\n";
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

// Each run leaves something in its namespaces: they are replaced, and the zygote must follow.
TEST_F(EngineTest, ForkedGuestsAreInTheNewNamespacesOfTheirSlot) {
  Start({.name = "test", .concurrency = 1, .queue = 10});
  constexpr const char* kCode =
      "import ctypes, socket\n"
      "print(len(list(open('/proc/sysvipc/sem'))), ctypes.CDLL(None).semget(0, 1, 0o1600))\n"
      "print(*[line for line in open('/proc/net/snmp') if line[:3] == 'Ip:'])\n"
      "try: socket.create_connection(('192.0.2.1', 9))\n"
      "except OSError as error: print(error.strerror)\n";
  const std::string first = Run(InPython(kCode)).run.value().out;
  EXPECT_EQ(first.find("1 "), 0U) << first;
  EXPECT_NE(first.find("Network is unreachable"), std::string::npos) << first;
  int warm = 0;
  for (int i = 0; i < 8; ++i) {
    const Report report = Run(InPython(kCode));
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
  request.args = {"there"};
  request.env = {{"WORD", "world"}};
  request.output_directory = "output";
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
    EXPECT_EQ(report.run->out, ".:\nscript.sh\n\n/dev/shm:\n\n/tmp:\n");
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

TEST_F(EngineTest, WhoFindsNeitherAPlaceNorRoomIsRefusedAtOnce) {
  Start({.name = "one", .concurrency = 1, .queue = 1});
  Submitted running = Submit(Script("sleep 0.4"));
  Submitted waiting = Submit(Script("echo second"));
  const auto begin = std::chrono::steady_clock::now();
  const Answer third = Ask(Script("echo third"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(200));
  EXPECT_EQ(KindOf(third), RefusalKind::kBusy);
  EXPECT_EQ(std::get<Refusal>(third).load, 3);
  EXPECT_EQ(std::get<Report>(waiting.answer.get()).run->out, "second\n");
  EXPECT_EQ(std::get<Report>(running.answer.get()).run->outcome.exit_code, 0);
}

TEST_F(EngineTest, OneClientsQueueDoesNotHoldUpAnother) {
  Start({.name = "one", .concurrency = 1, .queue = 100});
  std::vector<Submitted> many;
  for (int i = 0; i < 10; ++i) many.push_back(Submit(Script("sleep 0.1", "many")));
  Submitted other = Submit(Script("true", "other"));
  ASSERT_EQ(other.answer.wait_for(seconds(30)), std::future_status::ready);
  EXPECT_EQ(many.back().answer.wait_for(seconds(0)), std::future_status::timeout)
      << "the other was not last";
  for (Submitted& each : many) each.answer.get();
}

TEST_F(EngineTest, ARequestCanBeCancelledWhileItWaitsAndWhileItRuns) {
  Start({.name = "one", .concurrency = 1, .queue = 5});
  Submitted running = Submit(Script("sleep 60"));
  Submitted waiting = Submit(Script("sleep 60"));
  std::this_thread::sleep_for(milliseconds(100));
  waiting.ticket->Cancel();
  EXPECT_EQ(KindOf(waiting.answer.get()), RefusalKind::kCancelled);
  running.ticket->Cancel();
  EXPECT_EQ(KindOf(running.answer.get()), RefusalKind::kCancelled);
  running.ticket->Cancel();
  EXPECT_EQ(Run(Script("echo next")).run->out, "next\n");
}

TEST_F(EngineTest, PatienceEndsInTheQueue) {
  Start({.name = "one", .concurrency = 1, .queue = 5});
  Submitted running = Submit(Script("sleep 1"));
  Request impatient = Script("true");
  impatient.patience = milliseconds(100);
  EXPECT_EQ(KindOf(Ask(std::move(impatient))), RefusalKind::kQueueTimeout);
  running.ticket->Cancel();
  running.answer.get();
}

TEST_F(EngineTest, DrainingRefusesTheNewAndFinishesTheOld) {
  Start();
  Submitted running = Submit(Script("sleep 0.3; echo done"));
  engine_->Drain();
  EXPECT_EQ(KindOf(Ask(Script("true"))), RefusalKind::kDraining);
  EXPECT_FALSE(engine_->AwaitIdle(milliseconds(10)));
  EXPECT_TRUE(engine_->AwaitIdle(seconds(30)));
  EXPECT_EQ(std::get<Report>(running.answer.get()).run->out, "done\n");
}

TEST_F(EngineTest, WhatCannotBeRunIsRefusedWithItsReason) {
  Start();
  Request unknown = Script("true");
  unknown.language = "klingon";
  EXPECT_EQ(KindOf(Ask(std::move(unknown))), RefusalKind::kUnavailable);
}

TEST_F(EngineTest, WhatSlotsShareWithTheHostIsToldOnce) {
  Start();
  Request request = Script("echo ran");
  request.language = "public";
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
  request.requirements = {"six", "--no such thing"};
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
  request.language = "public";
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
  request.language = "preferred";
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
  request.install_time = seconds(7);
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
  // The slot is made ready for the next after the answer.
  ASSERT_TRUE(engine_->AwaitIdle(seconds(30)));
  EXPECT_GT(packages.lease.use_count(), 1);
  engine_.reset();
  EXPECT_EQ(packages.lease.use_count(), 1);
}

TEST_F(EngineTest, ARequestCanBeCancelledWhileItsPackagesAreInstalled) {
  FakePackages packages;
  packages_ = &packages;
  Start();
  Submitted submitted = Submit(WithPackages("echo ran", "slow"));
  while (packages.asked == 0) std::this_thread::sleep_for(milliseconds(5));
  submitted.ticket->Cancel();
  ASSERT_EQ(submitted.answer.wait_for(seconds(10)), std::future_status::ready);
  EXPECT_EQ(KindOf(submitted.answer.get()), RefusalKind::kCancelled);
}

TEST_F(EngineTest, EndingTheEngineEndsWhatRuns) {
  Start();
  Submitted running = Submit(Script("sleep 60"));
  std::this_thread::sleep_for(milliseconds(100));
  engine_.reset();
  EXPECT_EQ(KindOf(running.answer.get()), RefusalKind::kCancelled);
  running.ticket->Cancel();
}

}  // namespace
}  // namespace polybox::exec
