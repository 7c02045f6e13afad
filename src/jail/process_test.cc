// Processes of a lease, in every grade that this host gives: streams, terminals, signals, usage and
// outcomes.
#include "jail/process.h"

#include <csignal>

#include <sys/ioctl.h>

#include "jail/testing/leases.h"

namespace polybox::jail {
namespace {

class Processes : public Leases {};
INSTANTIATE_TEST_SUITE_P(Grades, Processes, ::testing::ValuesIn(kLeaseGrounds), GroundName);

TEST_P(Processes, StreamsAndExitCodeAreTheProcesssOwn) {
  Process process = Start("read line; echo out $line; echo err >&2; exit 7");
  ASSERT_TRUE(WriteAll(process.streams().stdin_pipe.get(), "hello\n").ok());
  EXPECT_EQ(Output(process), "out hello\n");
  EXPECT_EQ(ReadAll(process.streams().stderr_pipe.get(), Bytes(100)).value_or("?"), "err\n");
  const Outcome outcome = Await(process);
  EXPECT_EQ(outcome.end, End::kExited);
  EXPECT_EQ(outcome.exit_code, 7);
  EXPECT_TRUE(process.WaitForTree(kSoon));
}

TEST_P(Processes, ASignalReachesTheMainProcessAlone) {
  Process asked =
      Start("trap 'echo caught; exit 3' TERM; echo ready; while :; do sleep 0.01; done");
  Process other = Start("echo ready; exec cat");
  EXPECT_EQ(ReadUntil(asked.streams().stdout_pipe.get(), "\n"), "ready\n");
  EXPECT_EQ(ReadUntil(other.streams().stdout_pipe.get(), "\n"), "ready\n");
  ASSERT_TRUE(asked.Signal(SIGTERM).ok());
  EXPECT_EQ(Await(asked).exit_code, 3);
  EXPECT_EQ(Output(asked), "caught\n");
  EXPECT_FALSE(other.Wait(Duration::zero()).has_value());
  ASSERT_TRUE(other.Signal(SIGSEGV).ok());
  EXPECT_EQ(Await(other).signal, SIGSEGV);
  EXPECT_FALSE(other.Signal(SIGTERM).ok()) << "it has ended";
}

TEST_P(Processes, AProgramThatIsNotThereIsASetupFailureThatNamesIt) {
  ProcessRequest request = RequestFor("");
  request.argv = {"/no/such/program"};
  const Outcome outcome = Await(Start(request));
  EXPECT_EQ(outcome.end, End::kSetupFailed);
  EXPECT_EQ(outcome.setup_failure,
            "execute the program (/no/such/program): No such file or directory");
}

TEST_P(Processes, ATerminalHasItsSizeAndTypedSignals) {
  // The kernel sends the signal of Ctrl-C first and then drops output that is not read yet, which
  // may be the trap's. With noflsh nothing is dropped.
  ProcessRequest request = RequestFor(
      "test -t 0 && test -t 1 && stty size; trap 'echo interrupted; stty size; exit 4' INT; "
      "stty noflsh; echo ready; while :; do sleep 0.01; done");
  request.terminal = {.rows = 33, .columns = 99};
  Process process = Start(request);
  const int terminal = process.streams().terminal.get();
  ASSERT_GE(terminal, 0);
  EXPECT_EQ(ReadUntil(terminal, "ready\r\n"), "33 99\r\nready\r\n");
  ASSERT_TRUE(process.Resize({.rows = 10, .columns = 20}).ok());
  ASSERT_TRUE(WriteAll(terminal, "\x03").ok());
  EXPECT_EQ(ReadUntil(terminal, "10 20\r\n"), "^Cinterrupted\r\n10 20\r\n");
  EXPECT_EQ(Await(process).exit_code, 4);
}

TEST_P(Processes, ATerminalHasJobControl) {
  ProcessRequest request = RequestFor("");
  request.argv = {"/bin/bash", "--norc", "--noediting", "-i"};
  request.env.emplace_back("PS1=ready ");
  request.terminal.emplace();
  Process process = Start(request);
  const int terminal = process.streams().terminal.get();
  const std::string greeting = ReadUntil(terminal, "ready ");
  EXPECT_EQ(greeting.find("job control"), std::string::npos) << greeting;
  const auto foreground = [&] {
    int group = 0;
    return ::ioctl(terminal, TIOCGPGRP, &group) == 0 ? group : -1;
  };
  const int shell = foreground();
  ASSERT_TRUE(WriteAll(terminal, "sleep 1000\n").ok());
  ASSERT_TRUE(testing::Await([&] { return foreground() != shell; }));
  // Until the child of the shell has executed its program, the signal has no effect. The shell
  // itself ignores the signal.
  ASSERT_TRUE(testing::Await([&] { return process.Signal(SIGINT).ok() && foreground() == shell; }));
  EXPECT_FALSE(process.Wait(Duration::zero()).has_value()) << "the shell goes on";
}

class FilteredProcesses : public Leases {};
INSTANTIATE_TEST_SUITE_P(Grades, FilteredProcesses, ::testing::ValuesIn(kFilteredGrounds),
                         GroundName);

TEST_P(FilteredProcesses, TypeIntoNoTerminalAndLoadNoDisciplines) {
  ProcessRequest request = RequestFor("");
  request.argv = {"/usr/bin/python3", "-c",
                  "import fcntl, os\n"
                  "for call in 0x5412, 0x541C, 0x5423:\n"
                  "  try: fcntl.ioctl(0, call, b'x' * 8); print('done')\n"
                  "  except OSError as error: print(error.errno)\n"
                  "print('end')"};
  request.terminal.emplace();
  Process process = Start(request);
  EXPECT_EQ(ReadUntil(process.streams().terminal.get(), "end"), "1\r\n1\r\n1\r\nend");
}

TEST_P(Processes, UsageBelongsToEachProcess) {
  Process busy = Start("echo ready; while :; do :; done");
  Process large = Start(R"(python3 -c '
text = b"x" * (48 << 20)
print("ready", flush=True)
input()')");
  Process small = Start("echo ready; exec cat");
  for (Process* process : {&busy, &large, &small}) {
    EXPECT_EQ(ReadUntil(process->streams().stdout_pipe.get(), "\n"), "ready\n");
  }
  EXPECT_TRUE(
      testing::Await([&] { return busy.Usage().cpu_time > std::chrono::milliseconds(100); }));
  EXPECT_TRUE(testing::Await([&] { return large.Usage().memory_peak > Bytes::MiB(40); }));
  EXPECT_LT(small.Usage().memory_peak.value(), Bytes::MiB(30));
  EXPECT_LT(small.Usage().cpu_time, std::chrono::milliseconds(100));
  ASSERT_TRUE(busy.End().ok());
  EXPECT_EQ(Await(busy).end, End::kCancelled);
  EXPECT_GT(busy.Usage().cpu_time, std::chrono::milliseconds(90));
}

TEST_P(Processes, TheWallTimeEndsTheTreeOfAMainProcessThatRuns) {
  const std::string mark = "37." + NewMark();
  ProcessRequest request = RequestFor(fmt::format("setsid sleep {0} & sleep {0}", mark));
  request.limits.wall_time = std::chrono::milliseconds(300);
  Process process = Start(request);
  const Outcome outcome = Await(process);
  EXPECT_EQ(outcome.end, End::kTimedOut);
  EXPECT_GE(outcome.wall, request.limits.wall_time);
  EXPECT_TRUE(process.WaitForTree(kSoon));
  EXPECT_EQ(Running(mark), 0);
}

TEST_P(Processes, TheProcessorTimeOfTheTreeIsLimited) {
  ProcessRequest request = RequestFor("while :; do :; done & while :; do :; done");
  request.limits.cpu_time = std::chrono::milliseconds(300);
  const Process process = Start(request);
  EXPECT_EQ(Await(process).end, End::kCpuLimit);
  EXPECT_TRUE(process.WaitForTree(kSoon));
}

TEST_P(Processes, MoreMemoryThanAllowedEndsTheTreeThatTookIt) {
  ProcessRequest request = RequestFor("");
  request.argv = {"/usr/bin/python3", "-c", "x = b'x' * (100 << 20); input()"};
  request.limits.memory = Bytes::MiB(60);
  const Process other = Start("exec sleep 1000");
  const Process process = Start(request);
  const Outcome outcome = Await(process);
  // Without cgroups RLIMIT_DATA refuses the memory, and Python says so.
  const bool refused = outcome.end == End::kExited && outcome.exit_code == 1;
  EXPECT_TRUE(outcome.end == End::kOutOfMemory || refused) << EndName(outcome.end);
  EXPECT_EQ(refused, GetParam().grade != Grade::kFull);
  EXPECT_FALSE(other.Wait(Duration::zero()).has_value());
}

}  // namespace
}  // namespace polybox::jail
