// Leases on this host in every grade that it gives, with what tests of leases need.
#pragma once

#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/testing/await.h"
#include "jail/grade.h"
#include "jail/lease.h"
#include "jail/seccomp_policy.h"
#include "jail/testing/reuse_default.h"
#include "sys/cgroup_tree.h"
#include "sys/host_facts.h"

namespace polybox::jail {

/// A grade and the uids of its guests.
struct LeaseGround {
  Grade grade = Grade::kFull;
  /// Whether guests have uids of their own, which needs root.
  bool own_uids = true;
};

/// How long a test waits for something that should happen soon.
inline constexpr std::chrono::seconds kSoon{20};

/// Returns how many processes of the host have `mark` in their command line.
inline int Running(const std::string& mark) {
  int count = 0;
  std::error_code error;
  for (auto entry = std::filesystem::directory_iterator("/proc", error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    if (std::stoi(name) == ::getpid()) continue;
    const std::string line = ReadFile(entry->path().string() + "/cmdline").value_or("");
    if (line.find(mark) != std::string::npos) ++count;
  }
  return count;
}

/// Returns a text for command lines that no other test has.
inline std::string NewMark() {
  static int count = 0;
  return fmt::format("{}{:03}", ::getpid(), ++count);
}

/// A script whose main process ends at once; a daemon in a session of its own goes on.
inline std::string Daemon(const std::string& mark) {
  return fmt::format("setsid bash -c 'setsid sleep {0} < /dev/null > /dev/null 2>&1 & exit' & exit",
                     mark);
}

class Leases : public ::testing::TestWithParam<LeaseGround> {
 protected:
  void SetUp() override {
    const LeaseGround ground = GetParam();
    if (ground.own_uids && ::geteuid() != 0 && ground.grade == Grade::kRootless) {
      GTEST_SKIP() << "own uids need root";
    }
    const auto chosen = ChooseGrade(CheckHost(sys::ProbeHost()), {Grade::kNone, ground.grade});
    if (!chosen.ok()) GTEST_SKIP() << chosen.error().message();
    if (ground.grade == Grade::kFull) {
      auto home = sys::CgroupHome::Make(sys::ReadCgroups());
      ASSERT_TRUE(home.ok()) << home.error().message();
      home_.emplace(std::move(home).value());
    }
    lease_ = Make(0);
    ASSERT_NE(lease_, nullptr);
  }

  LeaseOptions Options(unsigned number) const {
    LeaseOptions options{.slot = {.spec = HostSpec(),
                                  .filter = BuiltinGuestFilter(GetParam().grade).value(),
                                  .cgroups = home_ ? &*home_ : nullptr,
                                  .number = number,
                                  .reuse = ReuseByDefault()}};
    options.slot.spec.grade = GetParam().grade;
    options.slot.spec.privileged = ::geteuid() == 0 && GetParam().own_uids;
    return options;
  }

  std::unique_ptr<Lease> Make(unsigned number) const {
    auto made = Lease::Make(Options(number));
    EXPECT_TRUE(made.ok()) << made.error().message();
    return made.ok() ? std::move(made).value() : nullptr;
  }

  ProcessRequest RequestFor(const std::string& script) const {
    const Places& places = lease_->places();
    ProcessRequest request = {
        .argv = {"/bin/bash", "-c", script},
        .env = {"PATH=/usr/bin:/bin", "HOME=" + places.work, "TMPDIR=" + places.tmp, "TERM=dumb"},
        .directory = places.work,
        .limits = {}};
    request.limits.wall_time = {};
    request.limits.cpu_time = {};
    return request;
  }

  Process Start(const ProcessRequest& request) const { return StartIn(*lease_, request); }
  Process Start(const std::string& script) const { return Start(RequestFor(script)); }
  static Process StartIn(Lease& lease, const ProcessRequest& request) {
    auto process = lease.Start(request);
    EXPECT_TRUE(process.ok()) << process.error().message();
    return std::move(process).value();
  }

  /// Returns what the process writes to its standard output until all writers have ended.
  static std::string Output(Process& process) {
    return ReadAll(process.streams().stdout_pipe.get(), Bytes::MiB(8)).value_or("?");
  }
  /// Returns what comes from `fd` (borrowed) until `end` has come.
  static std::string ReadUntil(int fd, const std::string& end) {
    std::string text;
    char byte = 0;
    while (text.find(end) == std::string::npos && ::read(fd, &byte, 1) == 1) text += byte;
    return text;
  }
  // The eight processes of StartEight(): two with terminals, then two daemons, then plain ones.
  static constexpr std::size_t kEight = 8;
  static constexpr std::size_t kFirstDaemon = 2;
  static constexpr std::size_t kFirstPlain = 4;
  static std::vector<std::string> MarksForEight() {
    std::vector<std::string> marks;
    for (std::size_t i = 0; i < kEight; ++i) marks.push_back("41." + NewMark());
    return marks;
  }
  /// Starts eight processes, each with its mark in the command line of a child in a session of its
  /// own, and waits until each is ready. A process with a terminal says "interrupted" for SIGINT,
  /// and the size of its terminal for a change of that. All but the daemons say "asked" for SIGUSR2
  /// and get busy by SIGUSR1. The main processes of the daemons have ended.
  std::vector<Process> StartEight(const std::vector<std::string>& marks) const {
    std::vector<Process> eight;
    for (std::size_t i = 0; i < kEight; ++i) {
      const bool has_terminal = i < kFirstDaemon;
      const bool is_daemon = !has_terminal && i < kFirstPlain;
      // After a signal with a trap, `wait` returns, and the trap runs.
      const std::string body = fmt::format(
          "trap 'echo asked' USR2; trap 'while :; do :; done' USR1; setsid sleep {0} & "
          "echo ready; echo err {0} >&2; while :; do wait; done",
          marks[i]);
      ProcessRequest request = RequestFor(is_daemon ? Daemon(marks[i]) : body);
      if (has_terminal) {
        // The kernel would drop output that is not read yet when Ctrl-C comes.
        request.argv[2] =
            "stty -echo noflsh; trap 'echo interrupted' INT; trap 'stty size' WINCH; " + body;
        request.terminal = {.rows = 33, .columns = 99};
      }
      eight.push_back(Start(request));
      ProcessStreams& streams = eight.back().streams();
      if (has_terminal) {
        ReadUntil(streams.terminal.get(), "err " + marks[i] + "\r\n");
      } else if (is_daemon) {
        Await(eight.back());
      } else {
        EXPECT_EQ(ReadUntil(streams.stdout_pipe.get(), "\n"), "ready\n");
      }
    }
    return eight;
  }
  /// Waits for the end of the main process.
  static Outcome Await(const Process& process) {
    const std::optional<Outcome> outcome = process.Wait(kSoon);
    EXPECT_TRUE(outcome.has_value());
    return outcome.value_or(Outcome());
  }
  bool has_namespaces() const { return HasNamespaces(GetParam().grade); }

  std::optional<sys::CgroupHome> home_;
  std::unique_ptr<Lease> lease_;
};

/// For INSTANTIATE_TEST_SUITE_P.
inline constexpr LeaseGround kLeaseGrounds[] = {{Grade::kFull, true},      {Grade::kRootless, true},
                                                {Grade::kRootless, false}, {Grade::kLandlock, true},
                                                {Grade::kLandlock, false}, {Grade::kNone, true},
                                                {Grade::kNone, false}};
inline constexpr LeaseGround kNamespaceGrounds[] = {
    {Grade::kFull, true}, {Grade::kRootless, true}, {Grade::kRootless, false}};
inline constexpr LeaseGround kFilteredGrounds[] = {
    {Grade::kFull, true}, {Grade::kRootless, false}, {Grade::kLandlock, true}};
inline std::string GroundName(const ::testing::TestParamInfo<LeaseGround>& info) {
  return std::string(GradeName(info.param.grade)) + (info.param.own_uids ? "" : "_shared_uid");
}

}  // namespace polybox::jail
