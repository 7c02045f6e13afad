#include "sys/command.h"

#include <csignal>
#include <dirent.h>
#include <filesystem>

#include <gtest/gtest.h>

#include "base/testing/temp_dir.h"

namespace polybox::sys {
namespace {

Command Shell(const std::string& script) {
  return {.argv = {"/bin/sh", "-c", script}};
}

std::size_t OpenDescriptors() {
  return static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

TEST(Command, BothStreamsAndTheExitCodeComeBack) {
  const auto output = RunCommand(Shell("echo out; echo err >&2; exit 3"));
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(output->out, "out\n");
  EXPECT_EQ(output->err, "err\n");
  EXPECT_EQ(output->exit_code, 3);
  EXPECT_EQ(output->Failure(), "exit code 3: err");
}

TEST(Command, ASignalIsNotAnExitCode) {
  const auto output = RunCommand(Shell("kill -SEGV $$"));
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(output->exit_code, -1);
  EXPECT_EQ(output->signal, SIGSEGV);
  EXPECT_EQ(output->Failure(), "killed by SIGSEGV");
}

TEST(Command, TheTimeoutEndsTheWholeGroup) {
  Command command = Shell("echo started; sleep 30 & wait");
  command.timeout = std::chrono::milliseconds(200);
  const auto start = std::chrono::steady_clock::now();
  const auto output = RunCommand(command);
  ASSERT_TRUE(output.ok());
  EXPECT_TRUE(output->timed_out);
  EXPECT_EQ(output->out, "started\n");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

TEST(Command, AChildLeftBehindCannotHoldTheCall) {
  const auto start = std::chrono::steady_clock::now();
  const auto output = RunCommand(Shell("setsid sleep 3 & echo done"));
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(output->out, "done\n");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
}

TEST(Command, OutputBeyondTheLimitIsDroppedNotWaitedFor) {
  Command command = Shell("head -c 1000000 /dev/zero; echo end >&2");
  command.keep = Bytes(100);
  const auto output = RunCommand(command);
  ASSERT_TRUE(output.ok());
  EXPECT_TRUE(output->ok());
  EXPECT_EQ(output->out.size(), 100U);
  EXPECT_EQ(output->err, "end\n");
}

TEST(Command, GetsTheAddedEnvironmentAndNoInput) {
  Command command = Shell("cat; echo $POLYBOX_X; pwd");
  command.env = {{"POLYBOX_X", "yes"}};
  const auto output = RunCommand(command);
  ASSERT_TRUE(output.ok());
  EXPECT_EQ(output->out, "yes\n/\n");
}

TEST(Command, WithoutInheritanceItGetsOnlyTheAddedEnvironment) {
  ::setenv("POLYBOX_TEST_SECRET", "secret", 1);
  const auto output = RunCommand(
      {.argv = {"/usr/bin/env"}, .env = {{"NAME", "value"}}, .inherit = Command::Inherit::kNone});
  ::unsetenv("POLYBOX_TEST_SECRET");
  ASSERT_TRUE(output.ok()) << output.error().message();
  EXPECT_EQ(output->out, "NAME=value\n");
}

TEST(Command, AProgramThatCannotStartIsAnError) {
  const auto output = RunCommand({.argv = {"/no/such/program"}});
  ASSERT_FALSE(output.ok());
  EXPECT_EQ(output.error().message(), "start /no/such/program: No such file or directory");
}

TEST(Command, LeavesNoDescriptorOpen) {
  ASSERT_TRUE(RunCommand(Shell("true")).ok());
  const std::size_t before = OpenDescriptors();
  ASSERT_TRUE(RunCommand(Shell("true")).ok());
  ASSERT_FALSE(RunCommand({.argv = {"/no/such/program"}}).ok());
  EXPECT_EQ(OpenDescriptors(), before);
}

TEST(FindOnPath, TakesTheFirstExecutableInOrder) {
  const testing::TempDir dir;
  dir.Write("a/tool", "not executable");
  const std::string b = dir.WriteExecutable("b/tool", "#!/bin/sh\n");
  dir.WriteExecutable("c/tool", "#!/bin/sh\n");
  std::filesystem::create_directories(dir.path() + "/d/tool");
  const std::string& base = dir.path();
  EXPECT_EQ(FindOnPath("tool", base + "/d:" + base + "/a:" + base + "/b:" + base + "/c"), b);
  EXPECT_EQ(FindOnPath("nothing", base + "/b"), "");
  EXPECT_EQ(FindOnPath("tool", ""), "");
  EXPECT_EQ(FindOnPath("tool", "b::.:relative"), "");
  EXPECT_EQ(FindOnPath("b/tool", base), "");
}

}  // namespace
}  // namespace polybox::sys
