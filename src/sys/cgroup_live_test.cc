// Tests the limits and figures of a slot with real cgroups and real processes. Needs root or
// delegated cgroups; skips without them.
#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <poll.h>
#include <sched.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <linux/sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/files.h"
#include "base/testing/temp_dir.h"
#include "sys/cgroup_slot.h"
#include "sys/pipe.h"

// The guests of these tests are forks of the test process. The memory and the thread of
// ThreadSanitizer would count as theirs.
#ifndef __SANITIZE_THREAD__

namespace polybox::sys {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kCouldNotJoin = 99;
constexpr CgroupLimits kRoomy{Bytes::MiB(256), Bytes(0), 32, seconds(1)};

/// Forks into the v2 cgroup whose directory is open at `cgroup`; a plain fork() if `cgroup` is -1.
pid_t ForkInto(int cgroup) {
  clone_args args{};
  args.exit_signal = SIGCHLD;
  if (cgroup >= 0) {
    args.flags = CLONE_INTO_CGROUP;
    args.cgroup = static_cast<std::uint64_t>(cgroup);
  }
  return static_cast<pid_t>(::syscall(SYS_clone3, &args, sizeof(args)));
}

/// Forks into the slot: clones into its v2 directory if it has one, then writes "0" to each tasks
/// file.
template <typename Guest>
pid_t Start(const SlotCgroup& slot, const Guest& guest) {
  const pid_t pid = ForkInto(slot.CloneFd());
  if (pid != 0) return pid;
  for (const int fd : slot.JoinFds()) {
    if (::write(fd, "0", 1) != 1) ::_exit(kCouldNotJoin);
  }
  ::_exit(guest());
}

int Wait(pid_t pid) {
  int status = -1;
  ::waitpid(pid, &status, 0);
  return status;
}

template <typename Guest>
int RunGuest(const SlotCgroup& slot, const Guest& guest) {
  return Wait(Start(slot, guest));
}

int Touch(std::size_t bytes) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 1;
  std::memset(memory, 1, bytes);
  return 0;
}

/// Returns how many processes this one can start. They have ended when the function returns.
int ForkUntilRefused() {
  int made = 0;
  std::array<pid_t, 8> children{};
  while (made < 8 && (children.at(static_cast<std::size_t>(made)) = ::fork()) >= 0) {
    if (children.at(static_cast<std::size_t>(made)) == 0) {
      ::pause();
      ::_exit(0);
    }
    ++made;
  }
  for (int i = 0; i < made; ++i) ::kill(children.at(static_cast<std::size_t>(i)), SIGKILL);
  while (::wait(nullptr) > 0) {
  }
  return made;
}

int Burn(milliseconds cpu) {
  timespec now{};
  do {
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  } while (seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec) < cpu);
  return 0;
}

bool Readable(int fd, short event) {
  pollfd wanted{fd, event, 0};
  return ::poll(&wanted, 1, 0) == 1;
}

class LiveCgroup : public ::testing::Test {
 protected:
  void SetUp() override {
    auto home = CgroupHome::Make(hierarchies_);
    if (!home.ok()) GTEST_SKIP() << "cgroups cannot be made here: " << home.error().message();
    home_ = std::move(home).value();
    auto slot = home_->MakeSlot("slot-0");
    ASSERT_TRUE(slot.ok()) << slot.error().message();
    slot_ = std::move(slot).value();
    ASSERT_TRUE(slot_->SetLimits(kRoomy).ok());
  }

  CgroupUsage Usage() const {
    auto usage = slot_->ReadUsage();
    EXPECT_TRUE(usage.ok()) << usage.error().message();
    return std::move(usage).value_or({});
  }
  /// Returns the paths of the existing homes called `name`.
  std::vector<std::string> Places(const std::string& name) const {
    std::vector<std::string> places;
    for (const CgroupHierarchy& hierarchy : hierarchies_) {
      std::string path = CgroupBase(hierarchy) + "/" + name;
      if (std::filesystem::exists(path)) places.push_back(std::move(path));
    }
    return places;
  }

  std::vector<CgroupHierarchy> hierarchies_ = ReadCgroups();
  std::optional<CgroupHome> home_;
  std::optional<SlotCgroup> slot_;
};

TEST_F(LiveCgroup, AGuestBeyondItsMemoryIsKilledAndTheEventTellsIt) {
  CgroupLimits limits = kRoomy;
  limits.memory = Bytes::MiB(16);
  ASSERT_TRUE(slot_->SetLimits(limits).ok());
  const short event = slot_->capabilities().version == CgroupVersion::kV1 ? POLLIN : POLLPRI;
  ASSERT_TRUE(slot_->capabilities().oom_event);
  EXPECT_FALSE(Readable(slot_->OomFd(), event));
  const int status = RunGuest(*slot_, [] { return Touch(64U << 20U); });
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
  EXPECT_TRUE(Readable(slot_->OomFd(), event));
  EXPECT_TRUE(slot_->TakeOomEvent());
  EXPECT_FALSE(slot_->TakeOomEvent());
  EXPECT_EQ(Usage().oom_kills, 1);
  ASSERT_TRUE(slot_->ResetCounters().ok());
  EXPECT_EQ(RunGuest(*slot_, [] { return 0; }), 0);
  EXPECT_EQ(Usage().oom_kills, 0);
  EXPECT_FALSE(slot_->TakeOomEvent());
}

TEST_F(LiveCgroup, AResetForgetsTheOomEventOfTheLastRun) {
  CgroupLimits limits = kRoomy;
  limits.memory = Bytes::MiB(16);
  ASSERT_TRUE(slot_->SetLimits(limits).ok());
  RunGuest(*slot_, [] { return Touch(64U << 20U); });
  ASSERT_TRUE(slot_->ResetCounters().ok());
  EXPECT_FALSE(slot_->TakeOomEvent());
}

TEST_F(LiveCgroup, LimitsGoUpAndDownInOneSlot) {
  for (const unsigned mib : {64U, 16U, 128U, 8U, 256U}) {
    for (const unsigned swap : {0U, 32U, 0U}) {
      CgroupLimits limits = kRoomy;
      limits.memory = Bytes::MiB(mib);
      limits.swap = Bytes::MiB(swap);
      const Status status = slot_->SetLimits(limits);
      ASSERT_TRUE(status.ok()) << status.error().message();
    }
  }
  EXPECT_EQ(RunGuest(*slot_, [] { return Touch(64U << 20U); }), 0);
}

TEST_F(LiveCgroup, TheProcessLimitStopsFork) {
  CgroupLimits limits = kRoomy;
  limits.processes = 3;
  ASSERT_TRUE(slot_->SetLimits(limits).ok());
  EXPECT_EQ(WEXITSTATUS(RunGuest(*slot_, ForkUntilRefused)), 2);
  EXPECT_EQ(Usage().processes_peak.value_or(3), 3);
}

TEST_F(LiveCgroup, ThePeakOfProcessesIsThatOfTheRunAfterALargerOneToo) {
  CgroupLimits limits = kRoomy;
  limits.processes = 3;
  ASSERT_TRUE(slot_->SetLimits(limits).ok());
  ASSERT_EQ(WEXITSTATUS(RunGuest(*slot_, ForkUntilRefused)), 2);
  if (!Usage().processes_peak) GTEST_SKIP() << "this kernel has no pids.peak";
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(i > 0 || slot_->Renews());
    ASSERT_TRUE(slot_->NextStep().ok());
    ASSERT_TRUE(slot_->ResetCounters().ok());
    ASSERT_EQ(RunGuest(*slot_, [] { return 0; }), 0);
    EXPECT_EQ(Usage().processes_peak, 1);
  }
  ASSERT_TRUE(slot_->DropLeftovers().ok());
  ASSERT_TRUE(slot_->ResetCounters().ok());
  EXPECT_EQ(WEXITSTATUS(RunGuest(*slot_, ForkUntilRefused)), 2) << "the limit is still there";
  EXPECT_EQ(Usage().processes_peak, 3);
}

TEST_F(LiveCgroup, TheWayInStaysOpenForANextGuestThatHasItAlready) {
  CgroupLimits limits = kRoomy;
  limits.processes = 3;
  ASSERT_TRUE(slot_->SetLimits(limits).ok());
  ASSERT_EQ(WEXITSTATUS(RunGuest(*slot_, ForkUntilRefused)), 2);
  // The last run used more processes, which is not known when the next guest gets its descriptors.
  const std::vector<int> given = slot_->JoinFds();
  const int directory = slot_->CloneFd();
  ASSERT_TRUE(slot_->DropLeftovers(Inside::kNextGuest).ok());
  EXPECT_EQ(slot_->JoinFds(), given);
  EXPECT_EQ(slot_->CloneFd(), directory);
  EXPECT_EQ(RunGuest(*slot_, [] { return 0; }), 0);
}

TEST_F(LiveCgroup, PeakAndTimeAreThoseOfTheRun) {
  ASSERT_EQ(RunGuest(*slot_, [] { return Touch(64U << 20U) + Burn(milliseconds(150)); }), 0);
  const CgroupUsage first = Usage();
  ASSERT_TRUE(first.memory_peak && first.cpu_user && first.cpu_system);
  EXPECT_GE(*first.memory_peak, Bytes::MiB(64));
  EXPECT_LT(*first.memory_peak, Bytes::MiB(72));
  EXPECT_GE(*first.cpu_user + *first.cpu_system, milliseconds(140));
  ASSERT_TRUE(slot_->DropLeftovers().ok());
  ASSERT_TRUE(slot_->ResetCounters().ok());
  ASSERT_EQ(RunGuest(*slot_, [] { return Touch(8U << 20U) + Burn(milliseconds(20)); }), 0);
  const CgroupUsage second = Usage();
  EXPECT_GE(*second.memory_peak, Bytes::MiB(8));
  EXPECT_LT(*second.memory_peak, Bytes::MiB(12));
  EXPECT_GE(*second.cpu_user + *second.cpu_system, milliseconds(18));
  EXPECT_LT(*second.cpu_user + *second.cpu_system, milliseconds(100));
}

TEST_F(LiveCgroup, ASecondStepHasAPeakOfItsOwnAndTheSameLimits) {
  CgroupLimits limits = kRoomy;
  limits.memory = Bytes::MiB(48);
  ASSERT_TRUE(slot_->SetLimits(limits).ok());
  ASSERT_EQ(RunGuest(*slot_, [] { return Touch(32U << 20U); }), 0);
  ASSERT_TRUE(slot_->NextStep().ok());
  ASSERT_TRUE(slot_->ResetCounters().ok());
  ASSERT_EQ(RunGuest(*slot_, [] { return Touch(8U << 20U); }), 0);
  const CgroupUsage second = Usage();
  ASSERT_TRUE(second.memory_peak);
  EXPECT_GE(*second.memory_peak, Bytes::MiB(8));
  EXPECT_LT(*second.memory_peak, Bytes::MiB(12));
  const int status = RunGuest(*slot_, [] { return Touch(64U << 20U); });
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
}

TEST_F(LiveCgroup, ThereIsRoomToWaitAfterARunThatHadNone) {
  CgroupLimits limits = kRoomy;
  limits.memory = Bytes::MiB(1);
  ASSERT_TRUE(slot_->SetLimits(limits).ok());
  const auto touch = [] { return Touch(8U << 20U); };
  EXPECT_TRUE(WIFSIGNALED(RunGuest(*slot_, touch)));
  ASSERT_TRUE(slot_->MakeRoomToWait().ok());
  EXPECT_EQ(RunGuest(*slot_, touch), 0);
  ASSERT_TRUE(slot_->SetLimits(limits).ok());
  EXPECT_TRUE(WIFSIGNALED(RunGuest(*slot_, touch))) << "the run's own limit holds again";
  ASSERT_TRUE(slot_->SetLimits(kRoomy).ok());
  ASSERT_TRUE(slot_->MakeRoomToWait().ok());
  EXPECT_EQ(RunGuest(*slot_, [] { return Touch(64U << 20U); }), 0) << "nothing is lowered";
}

TEST_F(LiveCgroup, AStarterOfAnotherUserClonesGuestsIntoTheSlot) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be another user";
  constexpr uid_t kOwner = 0x70000000;
  // The starter waits until AllowStarter() has been called, and then exits with the exit code of
  // its guest.
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
  const UniqueFd wait(pipe[0]);
  UniqueFd go(pipe[1]);
  const pid_t starter = ForkInto(slot_->StarterFd());
  if (starter == 0) {
    go.reset();
    char byte = 0;
    (void)!::read(wait.get(), &byte, 1);
    if (::setresuid(kOwner, kOwner, kOwner) != 0) ::_exit(98);
    const int status = RunGuest(*slot_, [] { return 7; });
    ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 97);
  }
  const Status allowed = slot_->AllowStarter(kOwner);
  EXPECT_TRUE(allowed.ok()) << allowed.error().message();
  EXPECT_EQ(slot_->Starter().value_or(starter), starter);
  go.reset();
  const int status = Wait(starter);
  if (slot_->capabilities().version == CgroupVersion::kV1)
    return;  // on v1 guests join by themselves
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

TEST_F(LiveCgroup, TheNextRunDoesNotPayForThePageCacheOfTheLast) {
  const testing::TempDir dir;
  const std::string file = dir.path() + "/cache";
  const std::string block(1U << 20U, 'x');
  ASSERT_EQ(RunGuest(*slot_,
                     [&] {
                       const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
                       for (int i = 0; i < 24; ++i) {
                         if (::write(fd, block.data(), block.size()) < 0) return 1;
                       }
                       return ::fsync(fd) == 0 ? 0 : 1;
                     }),
            0);
  if (*Usage().memory_peak < Bytes::MiB(24)) GTEST_SKIP() << "files here are not charged to a run";
  ASSERT_TRUE(slot_->ResetCounters().ok());
  // The figure is absent where the kernel cannot reset it. There the reset has already dropped the
  // cache.
  EXPECT_GE(Usage().memory_peak.value_or(Bytes::MiB(24)), Bytes::MiB(20))
      << "nothing left to drop: no proof";
  ASSERT_TRUE(slot_->DropLeftovers().ok());
  ASSERT_TRUE(slot_->ResetCounters().ok());
  ASSERT_EQ(RunGuest(*slot_, [] { return 0; }), 0);
  EXPECT_LT(*Usage().memory_peak, Bytes::MiB(3));
}

TEST_F(LiveCgroup, AStricterQuotaAboveHoldsInsteadOfFailing) {
  if (slot_->capabilities().version == CgroupVersion::kV2) GTEST_SKIP() << "v2 takes any quota";
  for (const std::string& place : Places(CgroupHomeName().value())) {
    if (!std::filesystem::exists(place + "/cpu.cfs_quota_us")) continue;
    ASSERT_TRUE(WriteAll(OpenFile(place + "/slot-0/cpu.cfs_quota_us", O_WRONLY)->get(), "-1").ok());
    ASSERT_TRUE(WriteAll(OpenFile(place + "/cpu.cfs_quota_us", O_WRONLY)->get(), "150000").ok());
  }
  CgroupLimits limits = kRoomy;
  limits.cpu_per_second = seconds(4);
  const Status status = slot_->SetLimits(limits);
  EXPECT_TRUE(status.ok()) << status.error().message();
  EXPECT_TRUE(slot_->DropLeftovers().ok());
}

TEST_F(LiveCgroup, KillAllTakesEveryoneInTheSlot) {
  if (!slot_->capabilities().kill_all) {
    EXPECT_FALSE(slot_->KillAll().ok());
    GTEST_SKIP() << "no cgroup.kill here";
  }
  const pid_t pid = Start(*slot_, [] { return ::pause(); });
  ASSERT_GT(pid, 0);
  ASSERT_TRUE(slot_->KillAll().ok());
  const int status = Wait(pid);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
}

TEST_F(LiveCgroup, AnInnerCgroupCountsAndIsKilledAlone) {
  auto outer = home_->MakeSlot("outer");
  ASSERT_TRUE(outer.ok()) << outer.error().message();
  ASSERT_TRUE(outer->SetLimits(kRoomy).ok());
  std::vector<SlotCgroup> inner;
  for (const char* name : {"one", "two"}) {
    auto made = outer->MakeInner(name);
    ASSERT_TRUE(made.ok()) << made.error().message();
    inner.push_back(std::move(made).value());
    ASSERT_TRUE(inner.back().SetLimits(kRoomy).ok());
  }
  // Each process reports that it has joined its cgroup: an earlier round would not find it.
  const Pipe joined = MakePipe().value();
  const auto report_and_wait = [&] {
    return ::write(joined.writer.get(), "x", 1) == 1 ? ::pause() : kCouldNotJoin;
  };
  const pid_t killed = Start(inner[0], report_and_wait);
  const pid_t spared = Start(inner[1], report_and_wait);
  std::array<char, 1> word{};
  for (int i = 0; i < 2; ++i) ASSERT_EQ(::read(joined.reader.get(), word.data(), 1), 1);
  const auto kill_all = [](const SlotCgroup& cgroup) {
    constexpr int kMostRounds = 5000;
    for (int i = 0; i < kMostRounds; ++i) {
      if (cgroup.KillRound().value_or(false)) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  };
  EXPECT_TRUE(kill_all(inner[0]));
  EXPECT_TRUE(WIFSIGNALED(Wait(killed)));
  EXPECT_EQ(::kill(spared, 0), 0);
  EXPECT_EQ(::waitpid(spared, nullptr, WNOHANG), 0) << "the other one lives";
  EXPECT_TRUE(kill_all(inner[1]));
  EXPECT_TRUE(WIFSIGNALED(Wait(spared)));
}

TEST_F(LiveCgroup, ANameIsTakenOnce) {
  const auto again = home_->MakeSlot("slot-0");
  ASSERT_FALSE(again.ok());
  EXPECT_NE(again.error().message().find("File exists"), std::string::npos);
  EXPECT_EQ(RunGuest(*slot_, [] { return 0; }), 0) << "the first is untouched";
}

TEST_F(LiveCgroup, DirectoriesAndDescriptorsAreGoneAfterwards) {
  const auto descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  const std::string name = CgroupHomeName().value();
  const auto before = descriptors();
  {
    auto second = home_->MakeSlot("slot-1");
    ASSERT_TRUE(second.ok()) << second.error().message();
    SlotCgroup moved = std::move(second).value();
    EXPECT_EQ(RunGuest(moved, [] { return 0; }), 0);
  }
  EXPECT_EQ(descriptors(), before);
  ASSERT_FALSE(Places(name).empty());
  for (const std::string& place : Places(name)) {
    EXPECT_TRUE(std::filesystem::exists(place + "/slot-0"));
    EXPECT_FALSE(std::filesystem::exists(place + "/slot-1"));
  }
  slot_.reset();
  home_.reset();
  EXPECT_TRUE(Places(name).empty());
}

TEST_F(LiveCgroup, ASweepTakesWhatADeadServerLeftAndLeavesTheLiving) {
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe2(pipe.data(), O_CLOEXEC), 0);
  const UniqueFd told(pipe[0]);
  UniqueFd tell(pipe[1]);
  const pid_t server = ::fork();
  if (server == 0) {
    const auto home = CgroupHome::Make(ReadCgroups());
    const auto slot = home->MakeSlot("slot-0");
    (void)WriteAll(tell.get(), slot.ok() ? CgroupHomeName().value() : "failed");
    tell.reset();
    ::pause();
    ::_exit(0);
  }
  tell.reset();
  const std::string name = ReadAll(told.get(), Bytes::KiB(1)).value_or("");
  const std::size_t places = Places(name).size();
  EXPECT_GE(places, 1U) << name;
  SweepLeftovers(hierarchies_);
  EXPECT_EQ(Places(name).size(), places) << "the server lives";
  ::kill(server, SIGKILL);
  Wait(server);
  EXPECT_EQ(Places(name).size(), places) << "nobody cleaned up";
  const CgroupSweep sweep = SweepLeftovers(hierarchies_);
  EXPECT_GE(sweep.removed, static_cast<int>(places));
  EXPECT_TRUE(Places(name).empty());
  EXPECT_EQ(RunGuest(*slot_, [] { return 0; }), 0) << "ours still works";
}

}  // namespace
}  // namespace polybox::sys

#endif  // __SANITIZE_THREAD__
