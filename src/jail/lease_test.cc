// Leases in every grade that this host gives: what their processes share, and that each tree ends
// alone, as a whole.
#include "jail/lease.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <iterator>

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/testing/temp_dir.h"
#include "jail/testing/leases.h"
#include "sys/cgroup.h"

namespace polybox::jail {
namespace {

namespace fs = std::filesystem;

INSTANTIATE_TEST_SUITE_P(Grades, Leases, ::testing::ValuesIn(kLeaseGrounds), GroundName);

TEST_P(Leases, ChildrenOfAnEndedMainProcessGoOnUntilTheirEnd) {
  const std::string mark = "42." + NewMark();
  Process process = Start(fmt::format("sleep {} & exit 5", mark));
  EXPECT_EQ(Await(process).exit_code, 5) << "the child holds the pipes open";
  EXPECT_TRUE(process.TreeIsAlive());
  // While the child calls execve(), /proc shows no command line of it.
  EXPECT_TRUE(testing::Await([&] { return Running(mark) == 1; }));
  EXPECT_TRUE(process.End().ok());
  EXPECT_EQ(Running(mark), 0);
  EXPECT_EQ(Await(process).exit_code, 5) << "the fate stays";
}

/// Leases of which the kernel counts the processes: by a cgroup, or by a uid of their own. With the
/// uid of polybox a bomb can outrun its supervisor (SECURITY.md), and would take the host's PIDs.
class CountedLeases : public Leases {};
std::vector<LeaseGround> CountedGrounds() {
  std::vector<LeaseGround> counted;
  std::ranges::copy_if(kLeaseGrounds, std::back_inserter(counted), &LeaseGround::own_uids);
  return counted;
}
INSTANTIATE_TEST_SUITE_P(Grades, CountedLeases, ::testing::ValuesIn(CountedGrounds()), GroundName);

TEST_P(CountedLeases, AForkBombEndsAloneWithinItsLimit) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root gives guests uids of their own";
  const std::string mark = "43." + NewMark();
  Process other = Start("echo ready; read line; ls > /dev/null && echo forked");
  EXPECT_EQ(ReadUntil(other.streams().stdout_pipe.get(), "\n"), "ready\n");
  ProcessRequest request = RequestFor(fmt::format(
      "bomb() {{ setsid sleep {} & bomb & bomb & }}; bomb 2> /dev/null; sleep 1000", mark));
  request.limits.processes = 20;
  Process bomb = Start(request);
  EXPECT_TRUE(
      testing::Await([&] { return Running(mark) > 3 || bomb.Wait(Duration::zero()).has_value(); }));
  ASSERT_TRUE(WriteAll(other.streams().stdin_pipe.get(), "go\n").ok());
  EXPECT_EQ(ReadUntil(other.streams().stdout_pipe.get(), "\n"), "forked\n");
  const Status ended = bomb.End();
  EXPECT_TRUE(ended.ok()) << ended.error().message();
  EXPECT_EQ(Running(mark), 0);
}

TEST_P(Leases, ProcessesOfOneLeaseShareTheirDirectoriesAndNoOtherLeaseDoes) {
  EXPECT_EQ(Await(Start("echo shared > $TMPDIR/file")).exit_code, 0);
  Process reader = Start("cat $TMPDIR/file");
  EXPECT_EQ(Output(reader), "shared\n");
  const std::unique_ptr<Lease> other = Make(1);
  ASSERT_NE(other, nullptr);
  ProcessRequest request = RequestFor("cat $TMPDIR/file || echo none");
  request.directory = other->places().work;
  request.env = {"PATH=/usr/bin:/bin", "TMPDIR=" + other->places().tmp};
  Process stranger = StartIn(*other, request);
  EXPECT_EQ(Output(stranger), "none\n");
}

/// Without namespaces the network and the PIDs are the host's.
class LeasesInNamespaces : public Leases {};
INSTANTIATE_TEST_SUITE_P(Grades, LeasesInNamespaces, ::testing::ValuesIn(kNamespaceGrounds),
                         GroundName);

TEST_P(LeasesInNamespaces, ProcessesReachEachOthersPortsAndNoOtherLeaseDoes) {
  Process server = Start(R"(exec python3 -c '
import socket
listener = socket.create_server(("127.0.0.1", 8123))
print("ready", flush=True)
while True: listener.accept()[0].sendall(b"served\n")')");
  EXPECT_EQ(ReadUntil(server.streams().stdout_pipe.get(), "\n"), "ready\n");
  const std::string script = "exec 3<>/dev/tcp/127.0.0.1/8123 && cat <&3 || echo refused";
  Process client = Start(script);
  EXPECT_EQ(Output(client), "served\n");
  const std::unique_ptr<Lease> other = Make(1);
  ASSERT_NE(other, nullptr);
  Process stranger = StartIn(*other, RequestFor(script));
  EXPECT_EQ(Output(stranger), "refused\n");
}

TEST_P(LeasesInNamespaces, ProgramsListTheirInterfaces) {
  Process process = Start("python3 -c 'import socket; print(socket.if_nameindex())'");
  EXPECT_NE(Output(process).find("'lo'"), std::string::npos);
}

TEST_P(LeasesInNamespaces, WithEgressThereIsOneListenerAndItIsOurs) {
  LeaseOptions options = Options(1);
  options.slot.spec.egress = true;
  auto lease = Lease::Make(options);
  ASSERT_TRUE(lease.ok()) << lease.error().message();
  const UniqueFd listener = (*lease)->TakeEgress();
  ASSERT_TRUE(listener.valid());
  EXPECT_FALSE((*lease)->TakeEgress().valid());
  Process process = StartIn(
      **lease, RequestFor(fmt::format("exec 3<>/dev/tcp/127.0.0.1/{} && cat <&3", kEgressPort)));
  {
    const UniqueFd guest(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    EXPECT_TRUE(WriteAll(guest.get(), "hello\n").ok());
  }
  EXPECT_EQ(Output(process), "hello\n");
}

TEST_P(LeasesInNamespaces, ProcessesSeeAndSignalEachOther) {
  Process victim = Start("echo $$; exec sleep 1000");
  const std::string pid = ReadUntil(victim.streams().stdout_pipe.get(), "\n");
  Process other = Start(fmt::format("ps -o args= {0} || cat /proc/{0}/comm; kill {0}",
                                    pid.substr(0, pid.size() - 1)));
  EXPECT_NE(Output(other).find("sleep"), std::string::npos);
  EXPECT_EQ(Await(victim).signal, SIGTERM);
}

TEST_P(Leases, AWritableTreeKeepsItsFiles) {
  const testing::TempDir host;
  const std::string tree = host.path() + "/tree";
  fs::create_directory(tree);
  fs::permissions(host.path(), fs::perms::all);
  fs::permissions(tree, fs::perms::all);
  LeaseOptions options = Options(1);
  const std::string target = has_namespaces() ? "/tree" : tree;
  options.slot.spec.trees.push_back({.source = tree, .target = target, .writable = true});
  {
    auto lease = Lease::Make(options);
    ASSERT_TRUE(lease.ok()) << lease.error().message();
    ProcessRequest request = RequestFor("echo kept > file");
    request.directory = target;
    Process process = StartIn(**lease, request);
    EXPECT_EQ(Await(process).exit_code, 0)
        << ReadAll(process.streams().stderr_pipe.get(), Bytes(1000)).value_or("?");
  }
  EXPECT_EQ(ReadFile(tree + "/file").value_or("?"), "kept\n");
}

TEST_P(Leases, ALeaseThatEndsEndsAllAndSaysSo) {
  const std::string mark = "44." + NewMark();
  const std::string work = lease_->places().work;
  std::vector<Process> processes;
  processes.push_back(Start(fmt::format("sleep {} & wait", mark)));
  processes.push_back(Start(Daemon(mark)));
  Await(processes[1]);
  ASSERT_TRUE(testing::Await([&] { return Running(mark) >= 2; }));
  lease_.reset();
  EXPECT_EQ(Running(mark), 0);
  EXPECT_EQ(Await(processes[0]).end, End::kCancelled);
  EXPECT_EQ(Await(processes[1]).end, End::kExited);
  EXPECT_FALSE(processes[0].TreeIsAlive());
  EXPECT_TRUE(processes[1].End().ok());
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "no child is left";
  EXPECT_TRUE(has_namespaces() || !fs::exists(work));
  home_.reset();
  for (const auto& hierarchy : sys::ReadCgroups()) {
    for (const auto& entry : fs::directory_iterator(hierarchy.own_directory)) {
      const std::string name = entry.path().filename().string();
      EXPECT_FALSE(name.starts_with(fmt::format("polybox-{}-", ::getpid()))) << entry.path();
    }
  }
}

TEST_P(Leases, ManyThreadsUseProcessesOfTheirOwn) {
  std::atomic<int> right = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] {
        for (int round = 0; round < 3; ++round) {
          Process process = Start(fmt::format("echo {}; sleep 1000 &", i));
          const std::string said = ReadUntil(process.streams().stdout_pipe.get(), "\n");
          const bool exited = Await(process).end == End::kExited;
          if (said == fmt::format("{}\n", i) && exited && process.End().ok()) ++right;
        }
      });
    }
  }
  EXPECT_EQ(right, 12);
}

TEST_P(Leases, NothingIsLeftOfAServerThatWasKilled) {
  lease_.reset();
  home_.reset();
  const std::string mark = "45." + NewMark();
  const testing::TempDir directory;
  const pid_t server = ::fork();
  ASSERT_GE(server, 0);
  if (server == 0) {
    // The server of the test: it holds a lease until it is killed, by this test or with it.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (GetParam().grade == Grade::kFull) {
      home_.emplace(sys::CgroupHome::Make(sys::ReadCgroups()).value());
    }
    lease_ = Make(2);
    const Process first = Start(fmt::format("sleep {0} & setsid sleep {0} & wait", mark));
    const Process second = Start(Daemon(mark));
    directory.Write("place", lease_->places().work);
    directory.Write("ready", "");
    while (true) ::pause();
  }
  ASSERT_TRUE(testing::Await([&] { return fs::exists(directory.path() + "/ready"); }));
  ASSERT_TRUE(testing::Await([&] { return Running(mark) >= 4; }));
  ASSERT_EQ(::kill(server, SIGKILL), 0);
  ASSERT_EQ(::waitpid(server, nullptr, 0), server);
  EXPECT_TRUE(testing::Await([&] { return Running(mark) == 0; }));
  const std::string work = ReadFile(directory.path() + "/place").value_or("?");
  EXPECT_TRUE(has_namespaces() || testing::Await([&] { return !fs::exists(work); }));
  const auto left = [&] {
    sys::SweepLeftovers(sys::ReadCgroups());
    for (const auto& hierarchy : sys::ReadCgroups()) {
      for (const auto& entry : fs::directory_iterator(hierarchy.own_directory)) {
        if (entry.path().filename().string().starts_with(fmt::format("polybox-{}-", server))) {
          return true;
        }
      }
    }
    return false;
  };
  EXPECT_TRUE(testing::Await([&] { return !left(); })) << "cgroups";
}

/// In the other grades guests can have the supervisors' uid.
class FullLeases : public Leases {};
INSTANTIATE_TEST_SUITE_P(Grades, FullLeases, ::testing::Values(kLeaseGrounds[0]), GroundName);

TEST_P(FullLeases, AHostileProcessReachesNoSupervisorAndEndsWithItsTree) {
  const std::string mark = "46." + NewMark();
  Process storm = Start(fmt::format(R"(exec python3 -c '
import ctypes, os, signal, sys
libc = ctypes.CDLL(None)
print("subreaper", libc.prctl(36, 1, 0, 0, 0), flush=True)
for pid in [1, os.getppid()] + list(range(2, 60)):
    for number in (signal.SIGSTOP, signal.SIGKILL):
        if pid != os.getpid() and pid != os.getppid(): continue
        try:
            if pid == os.getppid(): os.kill(pid, number); print("reached", pid, flush=True)
        except OSError: pass
try: os.kill(1, signal.SIGSTOP); print("reached 1", flush=True)
except OSError: pass
print("ready", flush=True)
while True:
    try:
        if os.fork() == 0:
            os.setsid()
            if os.fork() != 0: os._exit(0)
    except OSError: pass
' {})",
                                    mark));
  const std::string said = ReadUntil(storm.streams().stdout_pipe.get(), "ready\n");
  EXPECT_EQ(said, "subreaper -1\nready\n");
  ASSERT_TRUE(testing::Await([&] { return Running(mark) > 8; }));
  const std::string other_mark = "47." + NewMark();
  Process other = Start(fmt::format("exec sleep {}", other_mark));
  ASSERT_TRUE(testing::Await([&] { return Running(other_mark) == 1; }));
  const Status ended = storm.End();
  EXPECT_TRUE(ended.ok()) << ended.error().message();
  EXPECT_EQ(Running(mark), 0);
  EXPECT_EQ(Running(other_mark), 1);
  // One uid and one PID namespace: a process may kill the other guests of its lease, and no more.
  Process killer = Start("kill -KILL -1; echo done");
  EXPECT_EQ(Output(killer), "done\n");
  EXPECT_EQ(Await(other).signal, SIGKILL);
  EXPECT_TRUE(lease_->Alive());
  Process after = Start("echo works");
  EXPECT_EQ(Output(after), "works\n");
}

}  // namespace
}  // namespace polybox::jail
