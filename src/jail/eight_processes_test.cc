// Eight processes at once in one lease, in every grade that this host gives: two with terminals,
// two daemons in sessions of their own, four plain ones. Each ends alone, and what belongs to a
// process reaches no other.
#include <csignal>

#include <sys/wait.h>

#include "base/testing/temp_dir.h"
#include "jail/scratch_home.h"
#include "jail/testing/leases.h"
#include "sys/cgroup.h"
#include "sys/pipe.h"
#include "sys/process_tree.h"

namespace polybox::jail {
namespace {

namespace fs = std::filesystem;

class EightProcesses : public Leases {};
INSTANTIATE_TEST_SUITE_P(Grades, EightProcesses, ::testing::ValuesIn(kLeaseGrounds), GroundName);

TEST_P(EightProcesses, EndEachAloneWithItsWholeTree) {
  const std::vector<std::string> marks = MarksForEight();
  const std::vector<Process> eight = StartEight(marks);
  for (std::size_t i = 0; i < eight.size(); ++i) {
    EXPECT_TRUE(testing::Await([&] { return Running(marks[i]) >= 1; })) << i;
    EXPECT_TRUE(eight[i].TreeIsAlive());
  }
  for (std::size_t i = 0; i < eight.size(); ++i) {
    const Status ended = eight[i].End();
    EXPECT_TRUE(ended.ok()) << ended.error().message();
    EXPECT_FALSE(eight[i].TreeIsAlive());
    EXPECT_EQ(Running(marks[i]), 0) << i;
    for (std::size_t other = i + 1; other < eight.size(); ++other) {
      EXPECT_TRUE(eight[other].TreeIsAlive()) << i << " ended " << other;
      EXPECT_GE(Running(marks[other]), 1) << i << " ended " << other;
    }
  }
}

TEST_P(EightProcesses, CtrlCAndResizeReachOneTerminalOnly) {
  std::vector<Process> eight = StartEight(MarksForEight());
  const int typed = eight[0].streams().terminal.get();
  const int other = eight[1].streams().terminal.get();
  ASSERT_TRUE(WriteAll(typed, "\x03").ok());
  EXPECT_EQ(ReadUntil(typed, "interrupted\r\n"), "interrupted\r\n");
  ASSERT_TRUE(eight[0].Resize({.rows = 10, .columns = 20}).ok());
  EXPECT_EQ(ReadUntil(typed, "10 20\r\n"), "10 20\r\n");
  // What the other terminal shows next is the answer to this signal, so nothing came before.
  ASSERT_TRUE(eight[1].Signal(SIGUSR2).ok());
  EXPECT_EQ(ReadUntil(other, "\r\n"), "asked\r\n");
  for (std::size_t i = kFirstPlain; i < eight.size(); ++i) {
    ASSERT_TRUE(eight[i].Signal(SIGUSR2).ok());
    EXPECT_EQ(ReadUntil(eight[i].streams().stdout_pipe.get(), "\n"), "asked\n") << i;
  }
}

TEST_P(EightProcesses, OutputSignalsAndUsageBelongToEach) {
  const std::vector<std::string> marks = MarksForEight();
  std::vector<Process> eight = StartEight(marks);
  for (std::size_t i = kFirstPlain; i < eight.size(); ++i) {
    EXPECT_EQ(ReadUntil(eight[i].streams().stderr_pipe.get(), "\n"), "err " + marks[i] + "\n");
  }
  // One gets busy, one ends by a signal; nobody else does either.
  const std::size_t busy = kFirstPlain;
  const std::size_t ended = kFirstPlain + 1;
  ASSERT_TRUE(eight[busy].Signal(SIGUSR1).ok());
  ASSERT_TRUE(eight[ended].Signal(SIGKILL).ok());
  EXPECT_EQ(Await(eight[ended]).signal, SIGKILL);
  const auto used = [&](std::size_t i) { return eight[i].Usage().cpu_time; };
  EXPECT_TRUE(testing::Await([&] { return used(busy) > std::chrono::milliseconds(500); }));
  for (std::size_t i = 0; i < eight.size(); ++i) {
    EXPECT_TRUE(i == busy || used(i) < std::chrono::milliseconds(250)) << i;
    const bool is_daemon = i >= kFirstDaemon && i < kFirstPlain;
    EXPECT_EQ(eight[i].Wait(Duration::zero()).has_value(), is_daemon || i == ended) << i;
  }
}

/// A process of the host, recognised by its PID and start time.
bool IsAlive(const sys::ProcessStat& process) {
  const auto now = sys::ProcessTree().Stat(process.pid);
  if (!now || now->start != process.start) return false;
  const std::string text = ReadFile(fmt::format("/proc/{}/stat", process.pid)).value_or("");
  return !text.empty() && text.find(") Z ") == std::string::npos;
}

/// Returns the entries of the directory that belong to the server with this PID.
std::vector<std::string> EntriesOf(pid_t server, const fs::path& directory) {
  std::vector<std::string> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(fmt::format("polybox-{}-", server))) found.push_back(entry.path());
  }
  return found;
}

/// Returns what a server has left in this host's cgroups, mounts and scratch directories.
std::vector<std::string> LeftBy(pid_t server) {
  std::vector<std::string> left = EntriesOf(server, fs::temp_directory_path());
  for (const auto& hierarchy : sys::ReadCgroups()) {
    const std::vector<std::string> more = EntriesOf(server, hierarchy.own_directory);
    left.insert(left.end(), more.begin(), more.end());
  }
  const std::string mounts = ReadFile("/proc/self/mountinfo").value_or("");
  if (mounts.find(fmt::format("polybox-{}-", server)) != std::string::npos) {
    left.emplace_back("a mount");
  }
  return left;
}

TEST_P(EightProcesses, AreGoneWithTheirServerWhenItIsKilled) {
  lease_.reset();
  home_.reset();
  const std::vector<std::string> marks = MarksForEight();
  sys::Pipe ready = sys::MakePipe().value();
  const pid_t server = ::fork();
  if (server == 0) {
    if (GetParam().grade == Grade::kFull) {
      home_.emplace(sys::CgroupHome::Make(sys::ReadCgroups()).value());
    }
    lease_ = Make(0);
    if (lease_ == nullptr) ::_exit(1);
    const std::vector<Process> eight = StartEight(marks);
    (void)WriteAll(ready.writer.get(), "ready\n");
    while (true) ::pause();
  }
  ready.writer.reset();
  EXPECT_EQ(ReadUntil(ready.reader.get(), "\n"), "ready\n");
  constexpr std::int64_t kMost = 10'000;
  const std::vector<sys::ProcessStat> family = sys::ProcessTree().Read(server, kMost);
  EXPECT_GE(family.size(), 16U) << "eight processes with supervisors, and the inits";
  ASSERT_EQ(::kill(server, SIGKILL), 0);
  ASSERT_EQ(::waitpid(server, nullptr, 0), server);
  for (const sys::ProcessStat& process : family) {
    EXPECT_TRUE(testing::Await([&] { return !IsAlive(process); })) << process.pid;
  }
  for (const std::string& mark : marks) {
    EXPECT_TRUE(testing::Await([&] { return Running(mark) == 0; })) << mark;
  }
  // The next server does this when it starts. An operator's `kill -9` runs no code of the first.
  EXPECT_TRUE(testing::Await([&] {
    sys::SweepLeftovers(sys::ReadCgroups());
    SweepScratchHomes();
    return LeftBy(server).empty();
  })) << ::testing::PrintToString(LeftBy(server));
}

}  // namespace
}  // namespace polybox::jail
