// Slots on this host. These tests need what grade full needs; elsewhere they skip with the reason.

#include "jail/slot.h"

#include <algorithm>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <poll.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/files.h"
#include "base/testing/await.h"
#include "jail/init/trace.h"
#include "jail/plan.h"
#include "jail/testing/full_slot.h"
#include "jail/testing/signal_guest.h"

namespace polybox::jail {
namespace {

TEST_F(FullSlot, TheGuestIsAnUnprivilegedProcessTwoInItsOwnWorld) {
  const Ran ran = Shell("id -u; id -g; echo $$ $PPID; pwd; hostname; echo /proc/[0-9]; ls /");
  EXPECT_EQ(ran.outcome.end, End::kExited) << Explain(ran.outcome, {});
  EXPECT_EQ(ran.err, "");
  // The cell's init is not shown, because its /proc files tell about earlier guests.
  EXPECT_EQ(ran.out.substr(0, 45), "65534\n65534\n2 1\n/sandbox\nsandbox\n/proc/2\nbin\n")
      << ran.out;
}

TEST_F(FullSlot, ExitCodesAndSignalsAreTheGuestsOwn) {
  EXPECT_EQ(Shell("exit 137").outcome.end, End::kExited);
  EXPECT_EQ(Shell("exit 137").outcome.exit_code, 137);
  const Ran killed = Shell("kill -SEGV $$");
  EXPECT_EQ(killed.outcome.end, End::kSignalled);
  EXPECT_EQ(killed.outcome.signal, SIGSEGV);
}

TEST_F(FullSlot, AProgramThatIsNotThereIsASetupFailureThatNamesIt) {
  const Ran ran = RunArgv({"/no/such/program"});
  EXPECT_EQ(ran.outcome.end, End::kSetupFailed);
  EXPECT_EQ(ran.outcome.setup_failure,
            "execute the program (/no/such/program): No such file or directory");
}

TEST_F(FullSlot, TheWallTimeEndsTheWholeTree) {
  RunLimits limits;
  limits.wall_time = std::chrono::milliseconds(200);
  const Ran ran = Shell("sleep 30 & setsid sleep 30 & wait", limits);
  EXPECT_EQ(ran.outcome.end, End::kTimedOut);
  EXPECT_GE(ran.outcome.wall, limits.wall_time);
  EXPECT_LT(ran.outcome.wall, limits.wall_time + std::chrono::milliseconds(500));
}

TEST_F(FullSlot, SignalsReachTheGuestAndAKillEndsAll) {
  CheckSignals(*slot_);
}

TEST_F(FullSlot, MoreMemoryThanAllowedIsOutOfMemory) {
  RunLimits limits;
  limits.memory = Bytes::MiB(32);
  const Ran ran = Shell("exec head -c 200000000 /dev/zero | exec tail", limits);
  EXPECT_GT(ran.outcome.oom_kills, 0) << ran.err;
  const Ran small = Shell("true", limits);
  EXPECT_EQ(small.outcome.oom_kills, 0);
  ASSERT_TRUE(small.outcome.memory_peak.has_value());
  EXPECT_LT(*small.outcome.memory_peak, Bytes::MiB(8));
}

TEST_F(FullSlot, LessMemoryThanAnythingNeedsIsOutOfMemoryToo) {
  RunLimits limits;
  // Less memory than is charged already, and less than exec() needs.
  for (const Bytes memory : {Bytes(1), Bytes::KiB(16), Bytes::KiB(64)}) {
    limits.memory = memory;
    const Ran ran = Shell("true", limits);
    EXPECT_EQ(ran.outcome.end, End::kOutOfMemory) << memory.count() << ": " << ran.err;
    EXPECT_EQ(ran.outcome.signal, SIGKILL);
  }
  EXPECT_EQ(Shell("echo on").out, "on\n") << "the slot is as good as new";
}

TEST_F(FullSlot, TheNextCellIsNotHeldToTheMemoryOfTheLastRun) {
  RunLimits limits;
  for (const Bytes memory : {Bytes(4096), Bytes::KiB(128), Bytes::KiB(512)}) {
    limits.memory = memory;
    Shell("true", limits);
    EXPECT_TRUE(slot_->Reset().ok()) << memory.count();
    EXPECT_EQ(Shell("echo on").out, "on\n") << memory.count();
    const Ran held = Shell("head -c 4000000 /dev/zero | tail", limits);
    EXPECT_NE(held.outcome.end, End::kExited) << "a limit holds for its own run";
  }
}

TEST_F(FullSlot, ARunsWriteLimitDoesNotBoundTheNextSessionsFiles) {
  RunLimits limits;
  limits.disk = Bytes(4096);
  Shell("true", limits);
  ASSERT_TRUE(slot_->Reset().ok());
  const std::string content(100000, 'x');
  const Status put = slot_->PutFiles({{"large", content, 0644}});
  EXPECT_TRUE(put.ok()) << put.error().message();
}

TEST_F(FullSlot, FilesThatFindNoRoomAreTheirSendersFault) {
  const Status put = slot_->PutFiles({{"large", std::string(200U << 20U, 'x'), 0644}});
  ASSERT_FALSE(put.ok());
  EXPECT_EQ(put.error().kind(), ErrorKind::kInvalid);
  EXPECT_EQ(put.error().message(), "write the files: No space left on device");
}

TEST_F(FullSlot, AForkBombHitsItsLimit) {
  RunLimits limits;
  limits.processes = 8;
  limits.wall_time = std::chrono::seconds(2);
  const Ran ran = Shell("for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 1 & done; wait", limits);
  EXPECT_NE(ran.err.find("fork"), std::string::npos) << ran.err;
}

TEST_F(FullSlot, NothingOfOneSessionIsLeftForTheNext) {
  ASSERT_TRUE(slot_->PutFiles({{"dir/input.txt", "hello", 0644}}).ok());
  EXPECT_EQ(Shell("cat dir/input.txt; echo x > /tmp/left; echo y > /dev/shm/left; chmod 700 .").out,
            "hello");
  EXPECT_EQ(Shell("cat /tmp/left /dev/shm/left").out, "x\ny\n") << "the same session";
  ASSERT_TRUE(slot_->Reset().ok());
  const Ran after = Shell("ls -A . /tmp /dev/shm; stat -c %a .");
  EXPECT_EQ(after.out, ".:\n\n/dev/shm:\n\n/tmp:\n755\n") << after.err;
}

TEST_F(FullSlot, ADirectoryIsHandedOutAsTheRunLeftIt) {
  ASSERT_TRUE(slot_->OpenDirectory("").ok()) << "before any run";
  EXPECT_EQ(Shell("mkdir -p out/inner; echo hello > out/inner/x; ln -s /etc link; ln -s out alias;"
                  "chmod 0 out/inner; (sleep 30; echo late > out/late) &")
                .outcome.end,
            End::kExited);
  const auto out = slot_->OpenDirectory("out/inner");
  ASSERT_TRUE(out.ok()) << out.error().message();
  const UniqueFd file(::openat(out->get(), "x", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(ReadAll(file.get(), Bytes(100)).value_or(""), "hello\n");
  for (const char* refused : {"link", "alias", "alias/inner", "..", "/etc", "out/../..", "none"}) {
    const auto bad = slot_->OpenDirectory(refused);
    ASSERT_FALSE(bad.ok()) << refused;
    EXPECT_TRUE(bad.error().message().starts_with("open a directory: ")) << bad.error().message();
  }
  EXPECT_EQ(Shell("cat out/late; ls").out, "alias\nlink\nout\n") << "the slot works on";
}

TEST_F(FullSlot, AnInputFileReplacesWhateverAGuestPutInItsPlace) {
  const Ran first = Shell("mkfifo pipe; ln -s /usr/bin/env link; echo old > file; chmod 000 file");
  ASSERT_EQ(first.outcome.exit_code, 0) << first.err;
  ASSERT_TRUE(
      slot_->PutFiles({{"pipe", "a", 0644}, {"link", "b", 0644}, {"file", "c", 0644}}).ok());
  EXPECT_EQ(Shell("cat pipe link file; find . -type f | wc -l").out, "abc3\n");
}

constexpr const char* kScratchMarks = R"(
for place in /sandbox /tmp /dev/shm; do stat -c '%n %a %h' $place; done
python3 -c '
import os
for place in ("/sandbox", "/tmp", "/dev/shm"):
    print(os.listxattr(place), os.stat(place).st_mtime == 4711, os.stat(place).st_atime == 4711)'
)";

TEST_F(FullSlot, NoMarkOnAScratchDirectoryReachesTheNextSession) {
  const std::string fresh = Shell(kScratchMarks).out;
  ASSERT_TRUE(slot_->Reset().ok());
  const Ran marked = Shell(R"(python3 -c '
import os
for place in ("/sandbox", "/tmp", "/dev/shm"):
    os.mkdir(place + "/left")
    os.chmod(place, 0o1750)
    try:
        os.setxattr(place, "user.word", b"secret")
    except OSError:
        pass  # a tmpfs has had these since Linux 6.6
    os.utime(place, (4711, 4711))')");
  ASSERT_EQ(marked.err, "");
  EXPECT_NE(Shell(kScratchMarks).out, fresh) << "the same session";
  ASSERT_TRUE(slot_->Reset().ok());
  EXPECT_EQ(Shell(kScratchMarks).out, fresh);
}

bool KernelTellsEveryChange() {
  const UniqueFd file(::memfd_create("changes", MFD_CLOEXEC));
  init::LearnWhetherEveryChangeShows("/proc/self/fd/" + std::to_string(file.get()));
  return init::EveryChangeShows();
}

// A kept file system differs from a new one in the numbers of its next inodes.
TEST_F(FullSlot, OnlyAWorkingDirectoryThatNobodyTouchedOutlivesItsSession) {
  POLYBOX_SKIP_WITHOUT_REUSE();
  if (!KernelTellsEveryChange()) GTEST_SKIP() << "this kernel does not tell every change";
  const auto session = [&](const std::string& script) {
    const Status put = slot_->PutFiles({{"program", "text"}, {"output", "", S_IFDIR | 0755}});
    EXPECT_TRUE(put.ok()) << put.error().message();
    const std::string number =
        Shell("stat -c %i program; cat program; ls -A . output; " + script).out;
    EXPECT_TRUE(slot_->Reset().ok());
    return number;
  };
  const std::string untouched = "ls -laR . > /dev/null; cat program > /dev/null";
  const std::string first = session(untouched);
  EXPECT_NE(first.find("text.:\noutput\nprogram\n\noutput:\n"), std::string::npos) << first;
  const std::string second = session(untouched);
  EXPECT_NE(first, second);
  EXPECT_NE(second, session(untouched));
  for (const char* touch :
       {"touch x", "touch x; rm x", "touch output/x", "mkdir output/x", "rm program",
        "mv program x; mv x program", "ln program x", "ln program x; rm x", "ln program output/x",
        "rmdir output", "chmod 700 .", "touch -a .",
        "python3 -c 'import os; os.setxattr(\".\", \"user.x\", b\"y\")'",
        "python3 -c 'import os; os.open(\".\", os.O_TMPFILE | os.O_RDWR)'",
        "python3 -c 'import os; os.open(\"output\", os.O_TMPFILE | os.O_RDWR)'"}) {
    session(touch);
    EXPECT_EQ(session(untouched), first) << touch;
    EXPECT_EQ(session(untouched), second) << touch;
  }
  // The content was changed, so the file must be made anew.
  session("echo other > program; chmod 0 program; chmod 700 output; touch -d 2001-01-01 output");
  const std::string after = session("stat -c '%a %y' output");
  EXPECT_NE(after.find("text"), std::string::npos) << after;
  EXPECT_EQ(after.find("2001"), std::string::npos) << after;
}

// The first object of a kind gets the same identifier, whatever an earlier session made.
TEST_F(FullSlot, NothingIsLeftOfSystemVObjects) {
  const std::pair<const char*, const char*> commands[] = {
      {"ipcmk -M 4096", "ipcrm -m"}, {"ipcmk -S 1", "ipcrm -s"}, {"ipcmk -Q", "ipcrm -q"}};
  for (const auto& [make, remove] : commands) {
    const std::string first = Shell(make).out;
    EXPECT_NE(first.find("id: "), std::string::npos) << first;
    EXPECT_EQ(Shell(make).out, first) << "one was left";
    Shell(std::string(remove) + " $(" + make + " | sed 's/.*: //')");
    EXPECT_EQ(Shell(make).out, first) << "one was removed";
  }
  EXPECT_EQ(Shell("tail -qn +2 /proc/sysvipc/*").out, "");
}

TEST_F(FullSlot, ContentOfSystemVObjectsDoesNotReachTheNextSession) {
  const std::string fill = R"(python3 -c '
import ctypes
c = ctypes.CDLL(None)
c.shmat.restype = ctypes.c_void_p
size = 30 << 20
ctypes.memset(c.shmat(c.shmget(0, size, 0o1600), None, 0), 1, size)
for _ in range(8):
    queue = c.msgget(0, 0o1600)
    while c.msgsnd(queue, ctypes.create_string_buffer(b"\1" * 4096), 4000, 0o4000) == 0: pass
print(c.semget(0, 9, 0o1600) >= 0)')";
  for (int i = 0; i < 5; ++i) {
    const Ran filled = Shell(fill);
    ASSERT_EQ(filled.out, "True\n") << filled.err;
    EXPECT_GT(filled.outcome.memory_peak, Bytes::MiB(30));
    ASSERT_TRUE(slot_->Reset().ok());
    EXPECT_LT(Shell("true").outcome.memory_peak, Bytes::MiB(8));
    ASSERT_TRUE(slot_->Reset().ok());
  }
}

// Messages that hold each other's sockets outlive their senders, with everything that was sent
// along, until the kernel finds them. The kernel finds deeper ones later.
TEST_F(FullSlot, NothingInFlightReachesTheNextSession) {
  const std::string leave = R"(python3 -c '
import fcntl, os, socket
named = socket.socket(socket.AF_UNIX)
named.bind("\0left")
named.listen()
port = socket.socket()
port.bind(("0.0.0.0", 5000))
port.listen()
memory = os.memfd_create("left")
os.write(memory, bytes(20 << 20))
held = [named.detach(), port.detach(), memory]
for place in ("/", "/tmp", "/sandbox", "/usr"):
    held.append(os.open(place, os.O_RDONLY))
    fcntl.flock(held[-1], fcntl.LOCK_EX)
for _ in range(15):
    pair = socket.socketpair()
    socket.send_fds(pair[0], [b"x"], held + [end.fileno() for end in pair])
    for file in held: os.close(file)
    held = [end.detach() for end in pair]
print(True, flush=True)
os._exit(0)')";
  const std::string look = R"(
grep left /proc/net/unix
grep :1388 /proc/net/tcp
for place in / /tmp /sandbox /usr; do flock -n $place true || echo $place; done)";
  for (int i = 0; i < 5; ++i) {
    const Ran left = Shell(leave);
    ASSERT_EQ(left.out, "True\n") << left.err;
    ASSERT_TRUE(slot_->Reset().ok());
    const Ran found = Shell(look);
    EXPECT_EQ(found.out, "");
    EXPECT_LT(found.outcome.memory_peak, Bytes::MiB(8));
    ASSERT_TRUE(slot_->Reset().ok());
  }
}

TEST_F(FullSlot, AnIpcNamespaceStaysWhereNothingWasMade) {
  POLYBOX_SKIP_WITHOUT_REUSE();
  if (!std::filesystem::exists("/proc/sys/kernel/shm_next_id"))
    GTEST_SKIP() << "no CONFIG_CHECKPOINT_RESTORE";
  const std::string first = Shell("readlink /proc/self/ns/ipc").out;
  EXPECT_EQ(Shell("ipcs > /dev/null; readlink /proc/self/ns/ipc").out, first);
  EXPECT_EQ(Shell("ipcmk -S 1 > /dev/null; readlink /proc/self/ns/ipc").out, first);
  EXPECT_NE(Shell("readlink /proc/self/ns/ipc").out, first);
}

TEST_F(FullSlot, TheIdMapsOfTheSlotCannotBeWrittenByAGuest) {
  constexpr const char* kMaps =
      "cat /proc/self/projid_map /proc/self/uid_map /proc/self/gid_map /proc/self/setgroups";
  const std::string before = Shell(kMaps).out;
  Shell("for map in projid_map uid_map gid_map; do echo '7 7 1' > /proc/self/$map; done");
  ASSERT_TRUE(slot_->Reset().ok());
  EXPECT_EQ(Shell(kMaps).out, before);
  EXPECT_NE(before, "");
}

TEST_F(FullSlot, LocksOnWhatIsShownReachNobodyElse) {
  if (!slot_->shared().empty()) GTEST_SKIP() << "not parted on this host: " << slot_->shared()[0];
  for (const char* path : {"/usr/bin/factor", "/usr/bin", "/etc/ld.so.cache", "/dev/full"}) {
    const UniqueFd file(::open(path, O_RDONLY | O_CLOEXEC));
    ASSERT_TRUE(file.valid()) << path;
    ASSERT_EQ(::flock(file.get(), LOCK_EX | LOCK_NB), 0) << path;
    const std::string script = std::string("flock -n ") + path + " echo free || echo locked";
    EXPECT_EQ(Shell(script).out, "free\n") << path;
  }
}

// Leaves out what the kernel counts for the whole machine: allocated sockets, and their memory.
constexpr const char* kNetworkState =
    "cd /proc/net; cat snmp snmp6 netstat rt6_stats ip6_flowlabel dev dev_snmp6/lo igmp igmp6 tcp "
    "udp 2>&1; sed -E 's/(alloc|mem|memory) [0-9]+//g' sockstat sockstat6; "
    "awk '{ $4 = \"\"; print }' protocols";

TEST_F(FullSlot, NoCounterOfTheNetworkReachesTheNextSession) {
  const std::string unused = Shell(kNetworkState).out;
  const Ran used = Shell(R"(python3 -c '
import socket, struct
def attempt(call, *arguments):
    try:
        call(*arguments)
    except OSError:
        pass
for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        sock = socket.socket(family, kind)
        attempt(sock.connect, (host, 80))
        attempt(sock.sendto, b"x", (host, 80))
        # A name for a flow, which lingers for a minute.
        label = struct.pack("16sIBBHHHI", bytes(15) + b"\1", 0, 0, 1, 1, 60, 60, 0)
        attempt(sock.setsockopt, socket.IPPROTO_IPV6, 32, label)
        attempt(sock.bind, ("", 0))
        attempt(sock.listen)')");
  ASSERT_EQ(used.err, "");
  ASSERT_NE(Shell(kNetworkState).out, unused) << "the same session";
  ASSERT_TRUE(slot_->Reset().ok());
  EXPECT_EQ(Shell(kNetworkState).out, unused);
}

TEST_F(FullSlot, ASessionWithoutNetworkKeepsTheNamespace) {
  POLYBOX_SKIP_WITHOUT_REUSE();
  const std::string before = Shell("readlink /proc/self/ns/net").out;
  ASSERT_TRUE(slot_->Reset().ok());
  EXPECT_EQ(Shell("readlink /proc/self/ns/net").out, before)
      << "a new one costs half a millisecond";
}

TEST_F(FullSlot, DirectoriesThatCannotBeSeparatedAreShownAndNamed) {
  std::string big = std::filesystem::temp_directory_path() / "big.XXXXXX";
  const UniqueFd file(::mkostemp(big.data(), O_CLOEXEC));
  ASSERT_EQ(::ftruncate(file.get(), 3 << 20), 0);
  ASSERT_EQ(::fchmod(file.get(), 0644), 0);
  SlotOptions options = Options();
  options.number = 1;
  options.spec.trees.push_back({big, "/big", true, false});
  // No overlay can be made of /proc, which reports the greatest possible stacking depth.
  options.spec.trees.push_back({"/proc/tty", "/terminals", false, false});
  auto slot = Slot::Make(options);
  std::filesystem::remove(big);
  ASSERT_TRUE(slot.ok()) << slot.error().message();
  std::vector<std::string> expected = slot_->shared();
  expected.insert(expected.end(), {"/big: File too large", "/terminals: Invalid argument"});
  EXPECT_TRUE(std::ranges::is_permutation(slot->shared(), expected))
      << ::testing::PrintToString(slot->shared());
  slot_.emplace(std::move(slot).value());
  EXPECT_EQ(Shell("stat -c %s /big; ls /terminals | grep drivers; touch /terminals/x").out,
            "3145728\ndrivers\n");
}

TEST_F(FullSlot, NothingIsLeftByASessionHoweverShort) {
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(Shell("echo /tmp/*; : > /tmp/left").out, "/tmp/*\n") << "session " << i;
    ASSERT_TRUE(slot_->Reset().ok());
  }
}

std::size_t CountLines(const char* path) {
  const std::string text = ReadFile(path).value_or("");
  return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

std::size_t CountEntries(const char* path) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path), {}));
}

TEST_F(FullSlot, AStepThatFailsIsNamedAndLeavesNothingBehind) {
  const Plan plan = MakePlan(HostSpec());
  const std::size_t mounts = CountLines("/proc/self/mountinfo");
  const std::size_t descriptors = CountEntries("/proc/self/fd");
  for (std::size_t i = 0; i < plan.operations.size(); ++i) {
    SlotOptions options = Options();
    options.number = 1;
    options.fail_at = static_cast<int>(i);
    const auto slot = Slot::Make(options);
    ASSERT_FALSE(slot.ok()) << Describe(plan.operations[i]);
    EXPECT_EQ(slot.error().message(), "make a slot: build the root (" +
                                          Describe(plan.operations[i]) + "): Input/output error");
  }
  EXPECT_EQ(CountLines("/proc/self/mountinfo"), mounts);
  EXPECT_EQ(CountEntries("/proc/self/fd"), descriptors);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), 0) << "only the fixture's own slot is a child";
  SlotOptions again = Options();
  again.number = 1;
  EXPECT_TRUE(Slot::Make(again).ok()) << "its cgroup's name is free again";
}

TEST_F(FullSlot, IsAliveBetweenSessionsUntilItsInitIsKilled) {
  EXPECT_TRUE(slot_->Alive());
  EXPECT_EQ(Shell("echo a").out, "a\n");
  ASSERT_TRUE(slot_->Reset().ok());
  EXPECT_TRUE(slot_->Alive());
  ASSERT_EQ(::kill(slot_->pid(), SIGKILL), 0);
  EXPECT_TRUE(testing::Await([&] { return !slot_->Alive(); }));
}

TEST_F(FullSlot, TheHostIsOutOfReach) {
  const Ran ran = Shell(
      "cat /etc/shadow /root/.bashrc; ls /home /var /run /sys; touch /usr/x /x /etc/x; mount -t "
      "tmpfs x /tmp; "
      "cat /.kept/1/environ; ls /.kept");
  EXPECT_EQ(ran.out, "");
}

class SlotWithEgress : public FullSlot {
 protected:
  void SetUp() override {
    FullSlot::SetUp();
    if (IsSkipped()) return;
    SlotOptions options = Options();
    options.number = 2;
    options.spec.egress = true;
    auto made = Slot::Make(options);
    ASSERT_TRUE(made.ok()) << made.error().message();
    slot_.emplace(std::move(made).value());
  }
};

TEST_F(SlotWithEgress, ThereIsOneListenerAndItIsOurs) {
  const UniqueFd listener = slot_->TakeEgress();
  ASSERT_TRUE(listener.valid());
  EXPECT_FALSE(slot_->TakeEgress().valid());
  const std::jthread answerer([&] {
    const UniqueFd guest(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    EXPECT_TRUE(WriteAll(guest.get(), "hello\n").ok());
  });
  const Ran ran = RunArgv({"/bin/bash", "-c",
                           "exec 3<>/dev/tcp/127.0.0.1/3128 && cat <&3; "
                           "for a in 127.0.0.1/80 192.0.2.1/443 ::1/3128; do"
                           "  (exec 3<>/dev/tcp/$a) 2>/dev/null && echo reached $a; done"});
  EXPECT_EQ(ran.out, "hello\n") << ran.err;
}

TEST_F(SlotWithEgress, EachSessionHasANetworkAndAListenerOfItsOwn) {
  constexpr const char* kNetwork = "readlink /proc/self/ns/net; tail -n +3 /proc/net/dev";
  const UniqueFd first = slot_->TakeEgress();
  const std::string before = Shell(kNetwork).out;
  ASSERT_TRUE(slot_->Reset().ok());
  const UniqueFd second = slot_->TakeEgress();
  ASSERT_TRUE(second.valid());
  EXPECT_NE(Shell(kNetwork).out, before);
  const Ran ran = RunArgv({"/bin/bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/3128 && echo connected"});
  EXPECT_EQ(ran.out, "connected\n") << ran.err;
  const auto waits = [](const UniqueFd& listener) {
    pollfd polled = {listener.get(), POLLIN, 0};
    return ::poll(&polled, 1, 0) == 1;
  };
  EXPECT_TRUE(waits(second));
  EXPECT_FALSE(waits(first));
}

TEST_F(FullSlot, ThereIsNoNetwork) {
  const Ran ran =
      Shell("cat /proc/net/dev | tail -n +3 | cut -d: -f1; exec 3<>/dev/tcp/127.0.0.1/80");
  EXPECT_EQ(ran.out, "    lo\n") << ran.err;
}

}  // namespace
}  // namespace polybox::jail
