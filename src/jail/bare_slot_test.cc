// Slots without namespaces on this host, as root and as an ordinary user: with Landlock, and with
// process control alone.
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include "base/files.h"
#include "base/testing/temp_dir.h"
#include "jail/plan.h"
#include "jail/seccomp_policy.h"
#include "jail/slot.h"
#include "jail/testing/reuse_default.h"
#include "jail/testing/run_in.h"
#include "jail/testing/signal_guest.h"
#include "sys/host_facts.h"

namespace polybox::jail {
namespace {

namespace fs = std::filesystem;

SlotOptions OptionsFor(Grade grade) {
  SlotOptions options{.spec = HostSpec(), .filter = BuiltinGuestFilter(grade).value()};
  options.spec.grade = grade;
  options.reuse = ReuseByDefault();
  return options;
}

class BareSlots : public ::testing::TestWithParam<Grade> {
 protected:
  void SetUp() override {
    const auto chosen = ChooseGrade(CheckHost(sys::ProbeHost()), {Grade::kNone, GetParam()});
    if (!chosen.ok()) GTEST_SKIP() << chosen.error().message();
    auto slot = Slot::Make(OptionsFor(GetParam()));
    ASSERT_TRUE(slot.ok()) << slot.error().message();
    slot_.emplace(std::move(slot).value());
  }

  Ran RunArgv(const std::vector<std::string>& argv, const RunLimits& limits = {}) {
    return RunIn(*slot_, argv, limits);
  }
  Ran Shell(const std::string& script, const RunLimits& limits = {}) {
    return RunArgv({"/bin/sh", "-c", script}, limits);
  }

  std::optional<Slot> slot_;
};

INSTANTIATE_TEST_SUITE_P(Grades, BareSlots, ::testing::Values(Grade::kLandlock, Grade::kNone),
                         [](const auto& grade) { return std::string(GradeName(grade.param)); });

TEST_P(BareSlots, TheGuestIsUnprivilegedInItsOwnDirectory) {
  const Ran ran = Shell("id -u; pwd; echo x > $TMPDIR/y && cat $TMPDIR/y");
  EXPECT_EQ(ran.outcome.end, End::kExited);
  const std::string uid = ran.out.substr(0, ran.out.find('\n'));
  EXPECT_EQ(uid == std::to_string(::geteuid()), ::geteuid() != 0) << "root gives a uid of its own";
  EXPECT_NE(ran.out.find("\n" + slot_->places().work + "\nx\n"), std::string::npos) << ran.out;
}

TEST_P(BareSlots, ExitCodesAndSignalsAreTheGuestsOwn) {
  EXPECT_EQ(Shell("exit 137").outcome.exit_code, 137);
  const Ran killed = Shell("kill -SEGV $$");
  EXPECT_EQ(killed.outcome.end, End::kSignalled);
  EXPECT_EQ(killed.outcome.signal, SIGSEGV);
  EXPECT_EQ(RunArgv({"/no/such/program"}).outcome.setup_failure,
            "execute the program (/no/such/program): No such file or directory");
}

/// Returns whether a `sleep` with this argument runs anywhere on the host.
bool Runs(const std::string& mark) {
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string line = ReadFile(entry.path().string() + "/cmdline").value_or("");
    if (line.find(mark) != std::string::npos && line.starts_with("sleep")) return true;
  }
  return false;
}

TEST_P(BareSlots, TheWallTimeEndsTheWholeTree) {
  RunLimits limits;
  limits.wall_time = std::chrono::milliseconds(300);
  const std::string mark = fmt::format("30.{}", ::getpid());
  const Ran ran =
      Shell(fmt::format(
                "sleep {0} & setsid sh -c 'sleep {0} & setsid sleep {0} & sleep {0}' & wait", mark),
            limits);
  EXPECT_EQ(ran.outcome.end, End::kTimedOut);
  EXPECT_LT(ran.outcome.wall, limits.wall_time + std::chrono::seconds(2));
  EXPECT_FALSE(Runs(mark));
}

TEST_P(BareSlots, ProcessesThatTheGuestLeavesRunningEndWithTheGuest) {
  const std::string mark = fmt::format("31.{}", ::getpid());
  const Ran ran = Shell(fmt::format("(setsid sleep {0} &) ; setsid sleep {0} & exit 3", mark));
  EXPECT_EQ(ran.outcome.exit_code, 3);
  EXPECT_FALSE(Runs(mark));
}

TEST_P(BareSlots, AForkBombHitsItsLimitAndEnds) {
  RunLimits limits;
  limits.processes = 20;
  limits.wall_time = std::chrono::seconds(1);
  const std::string mark = fmt::format("32.{}", ::getpid());
  const Ran ran = Shell(
      fmt::format("bomb() {{ setsid sleep {} & bomb & bomb & }}; bomb; sleep 20", mark), limits);
  EXPECT_NE(ran.err.find("fork"), std::string::npos) << ran.err;
  EXPECT_FALSE(Runs(mark));
}

TEST_P(BareSlots, SignalsReachTheGuestAndAKillEndsAll) {
  CheckSignals(*slot_);
}

TEST_P(BareSlots, NothingOfOneSessionIsLeftForTheNext) {
  ASSERT_TRUE(slot_->PutFiles({{"dir/input.txt", "hello", 0644}}).ok());
  EXPECT_EQ(Shell("cat dir/input.txt; echo x > $TMPDIR/left; chmod 000 dir .").out, "hello");
  ASSERT_TRUE(slot_->Reset().ok());
  const Ran after = Shell("ls -A . $TMPDIR; stat -c %a .");
  const std::string expected = fmt::format(".:\n\n{}:\n700\n", slot_->places().tmp);
  EXPECT_EQ(after.out, expected) << after.err;
}

TEST_P(BareSlots, NothingIsLeftAtTheEnd) {
  const fs::path home = fs::path(slot_->places().work).parent_path();
  Shell("mkdir -p a/b/c; chmod 000 a/b a; touch $TMPDIR/x");
  EXPECT_TRUE(fs::exists(home));
  slot_.reset();
  EXPECT_FALSE(fs::exists(home));
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "no child is left";
}

TEST_P(BareSlots, AStepThatFailsIsNamedAndLeavesNothingBehind) {
  const fs::path base = fs::path(slot_->places().work).parent_path().parent_path();
  slot_.reset();
  SlotOptions options = OptionsFor(GetParam());
  options.number = 1;
  const Plan plan = MakePlan(options.spec);
  for (std::size_t i = 0; i < plan.operations.size(); ++i) {
    options.fail_at = static_cast<int>(i);
    const auto slot = Slot::Make(options);
    ASSERT_FALSE(slot.ok());
    EXPECT_EQ(slot.error().message(), "make a slot: build the root (" +
                                          Describe(plan.operations[i]) + "): Input/output error");
  }
  options.fail_at = -1;
  EXPECT_TRUE(Slot::Make(options).ok()) << "its directory's name is free again";
  const std::string own = fmt::format("polybox-{}-", ::getpid());
  for (const auto& entry : fs::directory_iterator(base)) {
    EXPECT_FALSE(entry.path().filename().string().starts_with(own)) << entry.path();
  }
}

TEST_P(BareSlots, WithLandlockTheHostIsOutOfReach) {
  if (GetParam() != Grade::kLandlock) return;
  const testing::TempDir host;
  fs::permissions(host.path(), fs::perms::all);
  host.Write("secret", "secret");
  fs::permissions(host.path() + "/secret", fs::perms::all);
  const Ran ran = Shell(fmt::format(
      "cat {0}/secret /etc/shadow /etc/passwd /proc/self/status /proc/1/cmdline; ls {0} / /home; "
      "echo x > {0}/new; echo x > {0}/secret; : > /usr/x; mv {0}/secret y; ln {0}/secret z; "
      "truncate -s 0 {0}/secret; rm {0}/secret; exec 3<>/dev/tcp/127.0.0.1/80",
      host.path()));
  EXPECT_EQ(ran.out, "");
  EXPECT_EQ(ReadFile(host.path() + "/secret").value_or("?"), "secret");
  EXPECT_FALSE(fs::exists(host.path() + "/new"));
}

}  // namespace
}  // namespace polybox::jail
