// Netlink sockets of guests: programs can list interfaces, and the memory of unread answers is
// bounded.
#include <chrono>
#include <sstream>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "jail/testing/full_slot.h"
#include "sys/command.h"
#include "sys/pipe.h"

namespace polybox::jail {
namespace {

class RouteSockets : public FullSlot {
 protected:
  Ran Python(const std::string& program, const RunLimits& limits = {}) {
    return RunArgv({"/usr/bin/python3", "-c", program}, limits);
  }

  /// Returns what the guest prints. The guest prints a line, then waits for its input to end.
  /// Meanwhile the program `elsewhere` runs on the host in a network namespace of its own.
  std::string HeardDuring(const std::string& elsewhere, const std::string& guest) {
    sys::Pipe in = sys::MakePipe().value();
    sys::Pipe out = sys::MakePipe().value();
    const Places& places = slot_->places();
    std::jthread runs([&, end = std::move(out.writer), input = std::move(in.reader)]() mutable {
      const auto outcome = slot_->Run({.argv = {"/usr/bin/python3", "-c", guest},
                                       .env = {"HOME=" + places.work},
                                       .directory = places.work,
                                       .limits = {},
                                       .stdin_fd = input.get(),
                                       .stdout_fd = end.get(),
                                       .stderr_fd = end.get()});
      EXPECT_TRUE(outcome.ok());
      end.reset();
    });
    std::string heard;
    char byte = 0;
    while (!heard.ends_with('\n') && ::read(out.reader.get(), &byte, 1) == 1) heard += byte;
    const auto event = sys::RunCommand(
        {.argv = {"/usr/bin/unshare", "--net", "/usr/bin/python3", "-c", elsewhere}});
    EXPECT_TRUE(event.ok() && event->ok()) << (event.ok() ? event->Failure() : "");
    in.writer.reset();
    return heard + ReadAll(out.reader.get(), Bytes::MiB(1)).value_or("?");
  }

  /// Returns the processor time of the slot init since its start.
  Duration CpuTime() const {
    const std::string stat = ReadFile(fmt::format("/proc/{}/stat", slot_->pid())).value_or("");
    std::istringstream fields(stat.substr(stat.rfind(')') + 1));
    std::string ignored;
    for (int i = 3; i < 14; ++i) fields >> ignored;
    long user = 0;
    long system = 0;
    fields >> user >> system;
    return std::chrono::milliseconds((user + system) * 1000 / ::sysconf(_SC_CLK_TCK));
  }
};

TEST_F(RouteSockets, ListTheInterfacesOfTheJail) {
  for (int session = 0; session < 3; ++session) {
    EXPECT_EQ(Python("import socket; print(socket.if_nameindex())").out, "[(1, 'lo')]\n");
    ASSERT_TRUE(slot_->Reset().ok());
  }
}

TEST_F(RouteSockets, ChangeNothing) {
  const Ran ran = Python(R"(
import socket, struct
def ask(kind, flags, payload):
    link = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
    link.send(struct.pack("IHHII", 16 + len(payload), kind, flags, 1, 0) + payload)
    return struct.unpack("i", link.recv(4096)[16:20])[0]
# Bring lo up, give it an address, add a route, a neighbour, a rule, and another namespace's number.
up = struct.pack("BxHiII", 0, 0, 1, 1, 1)
print(ask(16, 5, up), ask(20, 0x605, struct.pack("BBBBI", 2, 8, 0, 254, 1) + struct.pack("HH", 8, 2) + bytes([127, 0, 0, 1])),
      ask(24, 0x605, struct.pack("BBBBBBBBI", 2, 0, 0, 0, 254, 3, 0, 1, 0)),
      ask(28, 0x605, struct.pack("BxxxiHBB", 2, 1, 128, 0, 0)),
      ask(32, 0x605, struct.pack("BBBBBBBBI", 2, 0, 0, 0, 254, 0, 0, 1, 0)), ask(88, 5, bytes(4)))
)");
  EXPECT_EQ(ran.out, "-1 -1 -1 -1 -1 -1\n") << ran.err;
}

TEST_F(RouteSockets, OtherProtocolsAndOptionsThatJoinGroupsAreClosed) {
  const Ran ran = Python(R"(
import errno, socket
for protocol in (1, 2, 4, 6, 9, 10, 12, 15, 16, 21, 1 << 16):
    try: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, protocol); print("open", protocol)
    except OSError as error: assert error.errno == errno.EAFNOSUPPORT, error
link = socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, 0)
try: link.setsockopt(270, 1, 1); print("joined")
except OSError as error: print(errno.errorcode[error.errno])
)");
  EXPECT_EQ(ran.out, "ENOPROTOOPT\n") << ran.err;
}

// bind() joins groups without an option. A message to a group reaches only the sender's network
// namespace, and sending takes a capability. Joining two groups, of multicast routing, takes a
// capability.
TEST_F(RouteSockets, InGroupsOfEventsHearNothingOfOtherNamespacesAndSayNothing) {
  const std::string guest = R"(
import errno, os, socket, sys
link = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
link.bind((0, 0x9fffffff))
try: link.sendto(bytes(16), (0, 1)); os.write(1, b"sent ")
except OSError as error: os.write(1, errno.errorcode[error.errno].encode() + b" ")
os.write(1, b"joined\n")
sys.stdin.readline()
try: print("heard", link.recv(65536, socket.MSG_DONTWAIT)[:64])
except BlockingIOError: print("heard nothing")
)";
  // The listener in the namespace of the event must hear it: this shows that there was an event.
  const std::string elsewhere = R"(
import fcntl, socket, struct
link = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
link.bind((0, 0x9fffffff))
fcntl.ioctl(socket.socket(), 0x8914, struct.pack("16sh14x", b"lo", 1))
link.recv(65536, socket.MSG_DONTWAIT)
)";
  EXPECT_EQ(HeardDuring(elsewhere, guest), "EPERM joined\nheard nothing\n");
}

TEST_F(RouteSockets, AreFewAtATimeAndAnyNumberInARow) {
  const Ran ran = Python(R"(
import errno, socket
held = []
try:
    while True: held.append(socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0))
except OSError as error:
    print(len(held), errno.errorcode[error.errno])
held.clear()
for i in range(100): socket.if_nameindex()
print("listed")
)");
  EXPECT_EQ(ran.out, "8 ENFILE\nlisted\n") << ran.err;
}

// Calls that may continue have no socket yet, but they count as well.
TEST_F(RouteSockets, AreAsFewWhenManyThreadsAskAtOnce) {
  const Ran ran = Python(R"(
import socket, threading
held, start = [], threading.Barrier(12)
threading.stack_size(1 << 17)
def ask():
    start.wait()
    for _ in range(8):
        try: held.append(socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0))
        except OSError: pass
threads = [threading.Thread(target=ask) for _ in range(12)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(held))
)");
  EXPECT_EQ(ran.out, "8\n") << ran.err;
}

TEST_F(RouteSockets, OfOneSessionAreNotMissedInTheNext) {
  RunLimits limits;
  limits.wall_time = std::chrono::milliseconds(400);
  const std::string hold = R"(
import socket, os
for i in range(3): os.fork()
held = [socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) for _ in range(8)]
while True: pass
)";
  Python(hold, limits);
  ASSERT_TRUE(slot_->Reset().ok());
  EXPECT_EQ(Python("import socket; print(socket.if_nameindex())").out, "[(1, 'lo')]\n");
}

TEST_F(RouteSockets, CostTheSlotInitLittleWhateverAGuestDoes) {
  RunLimits limits;
  limits.wall_time = std::chrono::seconds(2);
  const Duration before = CpuTime();
  const Ran ran = Python(R"(
import os, socket
for i in range(2): os.fork()
while True:
    try: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0).close()
    except OSError: pass
)",
                         limits);
  EXPECT_EQ(ran.outcome.end, End::kTimedOut);
  EXPECT_LT(CpuTime() - before, limits.wall_time / 20);
}

}  // namespace
}  // namespace polybox::jail
