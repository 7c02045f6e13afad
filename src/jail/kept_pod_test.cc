// What the next guest finds where one was the only process of its PID namespace.
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "jail/testing/full_slot.h"

namespace polybox::jail {
namespace {

class KeptPod : public FullSlot {
 protected:
  void SetUp() override {
    FullSlot::SetUp();
    if (IsSkipped()) return;
    if (!std::filesystem::exists("/proc/sys/kernel/ns_last_pid")) {
      GTEST_SKIP() << "no CONFIG_CHECKPOINT_RESTORE";
    }
    Settle();
  }

  /// From here on a look at /proc/self does not change its time.
  void Settle() {
    RunArgv({"/bin/true"});
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    ASSERT_TRUE(slot_->Reset().ok());
  }

  /// Of a run that is one process.
  std::string Namespace() { return RunArgv({"/bin/readlink", "/proc/self/ns/pid"}).out; }

  /// Of the slot init, by its name; -1 when there is none.
  pid_t Child(const std::string& name) const {
    const int slot = slot_->pid();
    std::istringstream children(
        ReadFile(fmt::format("/proc/{0}/task/{0}/children", slot)).value_or(""));
    for (pid_t pid = 0; children >> pid;) {
      if (ReadFile(fmt::format("/proc/{}/comm", pid)).value_or("") == name + "\n") return pid;
    }
    return -1;
  }
};

TEST_F(KeptPod, StaysForTheNextWhereAGuestWasAlone) {
  const std::string first = Namespace();
  ASSERT_TRUE(slot_->Reset().ok());
  EXPECT_EQ(Namespace(), first) << "a new one costs a third of a short run";
  RunArgv({"/bin/false"});
  RunArgv({"/no/such/program"});
  EXPECT_EQ(Namespace(), first);
}

TEST_F(KeptPod, GoesWithTheFirstGuestThatMakesAProcess) {
  for (const char* script :
       {"true & wait", "sleep 5 &", "setsid sleep 5 & exit 3", "kill -SEGV $$ & wait"}) {
    const std::string before = Namespace();
    Shell(script);
    EXPECT_NE(Namespace(), before) << script;
    Settle();
  }
}

TEST_F(KeptPod, GoesAfterManyGuestsAllTheSame) {
  const std::string first = Namespace();
  constexpr int kMany = 300;
  for (int i = 0; i < kMany; ++i) RunArgv({"/bin/true"});
  EXPECT_NE(Namespace(), first);
}

TEST_F(KeptPod, GoesWithAGuestThatIsKilled) {
  RunLimits limits;
  limits.wall_time = std::chrono::milliseconds(50);
  const std::string before = Namespace();
  EXPECT_EQ(RunArgv({"/bin/sleep", "5"}, limits).outcome.end, End::kTimedOut);
  EXPECT_NE(Namespace(), before);
}

TEST_F(KeptPod, GuestsAreAsInANewOne) {
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

TEST_F(KeptPod, ForgetsWhenItsProcWasLookedAt) {
  const auto time = [&](const char* path) {
    return std::atof(RunArgv({"/usr/bin/stat", "-c", "%.9Y", path}).out.c_str());
  };
  const std::string first = Namespace();
  for (const char* path : {"/proc/meminfo", "/proc/tty", "/proc/sys/kernel/pid_max", "/proc/net"}) {
    const double before = time(path);
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    ASSERT_TRUE(slot_->Reset().ok());
    EXPECT_GE(time(path), before + 0.03) << path;
  }
  EXPECT_EQ(Namespace(), first);
}

// Of these the kernel does not forget when somebody followed them first.
TEST_F(KeptPod, LeavesNoTimeOfAGuestOnItsLinks) {
  const auto now = [] {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch())
        .count();
  };
  constexpr auto kTick = std::chrono::milliseconds(20);
  for (const char* link : {"/proc/self", "/proc/thread-self", "/proc/self", "/proc/thread-self"}) {
    Shell("true & wait");  // a new pod for the next
    ASSERT_TRUE(slot_->Reset().ok());
    std::this_thread::sleep_for(kTick);
    const double before = now();
    EXPECT_NE(RunArgv({"/bin/readlink", link}).out, "");
    const double after = now();
    std::this_thread::sleep_for(kTick);
    ASSERT_TRUE(slot_->Reset().ok());
    const double followed = std::atof(RunArgv({"/usr/bin/stat", "-c", "%.9X", link}).out.c_str());
    EXPECT_TRUE(followed < before - 0.01 || followed > after) << link;
  }
}

TEST_F(KeptPod, HasFiguresOfItsOwnGuestOnly) {
  const Ran busy = RunArgv({"/usr/bin/python3", "-c", "sum(range(10**7)); bytearray(50 << 20)"});
  ASSERT_GT(busy.outcome.cpu_user, std::chrono::milliseconds(50));
  const Ran idle = RunArgv({"/bin/true"});
  EXPECT_LT(idle.outcome.cpu_user, std::chrono::milliseconds(50));
  EXPECT_LT(idle.outcome.memory_peak, Bytes::MiB(8));
  EXPECT_EQ(idle.outcome.processes_peak.value_or(1), 1);
}

// A guest says that it is there before its zygote says that it has made it, and may be told to end
// in between.
TEST_F(KeptPod, AGuestOfASlowZygoteCanBeEndedAtOnce) {
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
  const pid_t zygote = Child("perl");
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
  // Who waits in vain is given up after twenty seconds.
  constexpr auto kInVain = std::chrono::seconds(15);
  for (int i = 0; i < 100 && !::testing::Test::HasFailure(); ++i) {
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_TRUE(slot_->Reset().ok());
    EXPECT_LT(std::chrono::steady_clock::now() - begin, kInVain) << i;
  }
  done = true;
}

TEST_F(KeptPod, IsMadeAnewWhenItsInitHasDied) {
  Namespace();
  ASSERT_EQ(::kill(Child("polybox-pod"), SIGKILL), 0);
  ASSERT_TRUE(slot_->Reset().ok());
  EXPECT_EQ(Shell("echo $$").out, "2\n");
}

}  // namespace
}  // namespace polybox::jail
