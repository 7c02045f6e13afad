// What the next guest finds in a cell whose last guest was the only process of its PID namespace.
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include <gtest/gtest.h>

#include "jail/testing/family.h"
#include "jail/testing/full_slot.h"

namespace polybox::jail {
namespace {

class KeptCell : public FullSlot {
 protected:
  void SetUp() override {
    FullSlot::SetUp();
    if (IsSkipped()) return;
    POLYBOX_SKIP_WITHOUT_REUSE();
    if (!std::filesystem::exists("/proc/sys/kernel/ns_last_pid")) {
      GTEST_SKIP() << "no CONFIG_CHECKPOINT_RESTORE";
    }
    Settle();
  }

  /// Waits until following /proc/self no longer changes the link's access time.
  void Settle() {
    RunArgv({"/bin/true"});
    // sleeps: the kernel's clock for file times ticks every 10 ms at the latest.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    ASSERT_TRUE(slot_->Reset().ok());
  }

  /// Returns the PID namespace of a run that has one process.
  std::string Namespace() { return RunArgv({"/bin/readlink", "/proc/self/ns/pid"}).out; }
};

TEST_F(KeptCell, StaysForTheNextWhereAGuestWasAlone) {
  const std::string first = Namespace();
  ASSERT_TRUE(slot_->Reset().ok());
  EXPECT_EQ(Namespace(), first) << "a new one costs a third of a short run";
  RunArgv({"/bin/false"});
  RunArgv({"/no/such/program"});
  EXPECT_EQ(Namespace(), first);
}

TEST_F(KeptCell, GoesWithTheFirstGuestThatMakesAProcess) {
  for (const char* script :
       {"true & wait", "sleep 5 &", "setsid sleep 5 & exit 3", "kill -SEGV $$ & wait"}) {
    const std::string before = Namespace();
    Shell(script);
    EXPECT_NE(Namespace(), before) << script;
    Settle();
  }
}

TEST_F(KeptCell, GoesAfterManyGuestsAllTheSame) {
  const std::string first = Namespace();
  constexpr int kMany = 300;
  for (int i = 0; i < kMany; ++i) RunArgv({"/bin/true"});
  EXPECT_NE(Namespace(), first);
}

TEST_F(KeptCell, GoesWithAGuestThatIsKilled) {
  RunLimits limits;
  limits.wall_time = std::chrono::milliseconds(50);
  const std::string before = Namespace();
  EXPECT_EQ(RunArgv({"/bin/sleep", "5"}, limits).outcome.end, End::kTimedOut);
  EXPECT_NE(Namespace(), before);
}

TEST_F(KeptCell, GuestsAreAsInANewOne) {
  const auto look = [&] {
    const Ran ran = Shell("echo $$ $PPID; (exec sh -c 'echo $PPID'); cut -d' ' -f5 /proc/loadavg");
    return ran.out + ran.err;
  };
  const std::string in_new = look();
  Namespace();
  ASSERT_TRUE(slot_->Reset().ok());
  Namespace();
  EXPECT_EQ(look(), in_new);
}

TEST_F(KeptCell, ForgetsWhenItsProcWasLookedAt) {
  const auto time = [&](const char* path) {
    return std::atof(RunArgv({"/usr/bin/stat", "-c", "%.9Y", path}).out.c_str());
  };
  const std::string first = Namespace();
  for (const char* path : {"/proc/meminfo", "/proc/tty", "/proc/sys/kernel/pid_max", "/proc/net"}) {
    const double before = time(path);
    // sleeps: the passing time must show in what is compared.
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    ASSERT_TRUE(slot_->Reset().ok());
    EXPECT_GE(time(path), before + 0.03) << path;
  }
  EXPECT_EQ(Namespace(), first);
}

// Of these links the kernel does not forget when a process first followed them.
TEST_F(KeptCell, LeavesNoTimeOfAGuestOnItsLinks) {
  const auto now = [] {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch())
        .count();
  };
  // More than a tick of the kernel's clock for file times, so that times before and after differ.
  constexpr auto kTick = std::chrono::milliseconds(20);
  for (const char* link : {"/proc/self", "/proc/thread-self", "/proc/self", "/proc/thread-self"}) {
    Shell("true & wait");  // makes a new cell for the next guest
    ASSERT_TRUE(slot_->Reset().ok());
    std::this_thread::sleep_for(kTick);  // sleeps: the clock must tick
    const double before = now();
    EXPECT_NE(RunArgv({"/bin/readlink", link}).out, "");
    const double after = now();
    std::this_thread::sleep_for(kTick);  // sleeps: the clock must tick
    ASSERT_TRUE(slot_->Reset().ok());
    const double followed = std::atof(RunArgv({"/usr/bin/stat", "-c", "%.9X", link}).out.c_str());
    EXPECT_TRUE(followed < before - 0.01 || followed > after) << link;
  }
}

TEST_F(KeptCell, HasFiguresOfItsOwnGuestOnly) {
  const Ran busy = RunArgv({"/usr/bin/python3", "-c",
                            "import os\nbytearray(50 << 20)\nwhile os.times().user < 0.1: pass"});
  ASSERT_GT(busy.outcome.cpu_user, std::chrono::milliseconds(50));
  const Ran idle = RunArgv({"/bin/true"});
  EXPECT_LT(idle.outcome.cpu_user, std::chrono::milliseconds(50));
  EXPECT_LT(idle.outcome.memory_peak, Bytes::MiB(8));
  EXPECT_EQ(idle.outcome.processes_peak.value_or(1), 1);
}

// A guest reports that it exists before its zygote reports that it has made the guest. The server
// may end the guest in between.
TEST_F(KeptCell, AGuestOfASlowZygoteCanBeEndedAtOnce) {
  SlotOptions options = Options();
  options.number = 1;
  init::WarmStart& start = options.spec.warm.start;
  start.kind = init::WarmKind::kZygote;
  start.argv = {"/usr/bin/perl", "/.warm/start.pl"};
  start.env = {"PATH=/usr/bin:/bin"};
  options.spec.warm.file = "/.warm/start.pl";
  options.spec.warm.program = "fork(); open(F, '<&=62'); sysread(F, $b, 65536); exit 0;";
  options.spec.warm.limits = {Bytes::MiB(256), Bytes(0), 32, std::chrono::seconds(1)};
  slot_.emplace(Slot::Make(options).value());
  ASSERT_TRUE(slot_->Reset().ok());
  const pid_t zygote = ChildNamed(slot_->pid(), "perl");
  ASSERT_GT(zygote, 0);
  std::atomic<bool> done = false;
  const std::jthread scheduler([&] {
    for (int i = 0; !done; ++i) {
      std::this_thread::sleep_for(std::chrono::microseconds(100 + i * 37 % 900));
      ::kill(zygote, SIGSTOP);
      std::this_thread::sleep_for(std::chrono::milliseconds(3));
      ::kill(zygote, SIGCONT);
    }
  });
  // A cell that waits in vain is given up after twenty seconds.
  constexpr auto kInVain = std::chrono::seconds(15);
  for (int i = 0; i < 100 && !::testing::Test::HasFailure(); ++i) {
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_TRUE(slot_->Reset().ok());
    EXPECT_LT(std::chrono::steady_clock::now() - begin, kInVain) << i;
  }
  done = true;
}

TEST_F(KeptCell, IsMadeAnewWhenItsInitHasDied) {
  Namespace();
  ASSERT_EQ(::kill(ChildNamed(slot_->pid(), "polybox-cell"), SIGKILL), 0);
  ASSERT_TRUE(slot_->Reset().ok());
  EXPECT_EQ(Shell("echo $$").out, "2\n");
}

}  // namespace
}  // namespace polybox::jail
