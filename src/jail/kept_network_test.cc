// What the next guest finds in a network namespace that another guest has used.
#include <gtest/gtest.h>

#include "jail/testing/full_slot.h"

namespace polybox::jail {
namespace {

using KeptNetwork = FullSlot;

// The kernel announces a membership to routers within a second, and repeats that. It does so for
// any number of memberships, on a loopback that is down, and for a socket that is closed already.
constexpr const char* kJoinGroups = R"(
import socket, struct
IPPROTO_IP, MCAST_JOIN_GROUP = 0, 42
def attempt(call):
    try:
        call()
    except OSError as error:
        print(error)
six = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
four = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(12):
    group = bytes([0xff, 2]) + bytes(13) + bytes([16 + i])
    attempt(lambda: six.setsockopt(socket.IPPROTO_IPV6, 20, group + struct.pack("I", 1)))
    name = struct.pack("HHI16sI", socket.AF_INET6, 0, 0, group, 0).ljust(128, b"\0")
    attempt(lambda: six.setsockopt(socket.IPPROTO_IPV6, MCAST_JOIN_GROUP,
                                   struct.pack("I4x", 1) + name))
    attempt(lambda: four.setsockopt(IPPROTO_IP, 35, bytes([224, 0, 1, i]) + struct.pack("II", 0, 1)))
)";

constexpr const char* kLookForTraces = R"(
import time
FILES = ["snmp6", "snmp", "netstat", "dev", "igmp", "igmp6", "dev_mcast", "anycast6"]
def look():
    return {name: open("/proc/net/" + name).read() for name in FILES}
first = look()
sent = [line for line in first["snmp6"].splitlines() if line.startswith("Ip6Out")]
print(*[line for line in sent if not line.endswith("\t0")])
deadline = time.monotonic() + 2.5
while time.monotonic() < deadline and look() == first:
    time.sleep(0.05)
later = look()
print(*[name for name in FILES if later[name] != first[name]])
)";

TEST_F(KeptNetwork, TellsNobodyHowManyGroupsAGuestJoined) {
  EXPECT_EQ(RunArgv({"/usr/bin/python3", "-c", kJoinGroups}).outcome.exit_code, 0);
  ASSERT_TRUE(slot_->Reset().ok());
  const Ran next = RunArgv({"/usr/bin/python3", "-c", kLookForTraces});
  EXPECT_EQ(next.out, "\n\n") << next.err;
}

TEST_F(KeptNetwork, StaysForTheNextWhereAGuestOnlyMadeSockets) {
  POLYBOX_SKIP_WITHOUT_REUSE();
  const auto name = [&] { return RunArgv({"/bin/readlink", "/proc/self/ns/net"}).out; };
  const std::string first = name();
  RunArgv({"/usr/bin/python3", "-c",
           "import socket; s = socket.socket(); s.bind(('', 8080)); s.listen()"});
  ASSERT_TRUE(slot_->Reset().ok());
  EXPECT_EQ(name(), first) << "a new one costs half a millisecond";
}

// Looks at the first network namespace of a slot, and at a namespace that replaced it.
TEST_F(KeptNetwork, TellsNobodyWhatTheWholeMachineDoes) {
  const auto readable = [&] {
    return Shell(
               "cd /proc; cat locks modules softirqs schedstat vmstat zoneinfo buddyinfo fs/* "
               "sys/fs/* "
               "net/sockstat net/sockstat6 net/protocols net/softnet_stat net/ptype net/stat/*")
        .out;
  };
  EXPECT_EQ(readable(), "");
  const std::string first = RunArgv({"/bin/readlink", "/proc/self/ns/net"}).out;
  RunArgv({"/usr/bin/python3", "-c",
           "import socket\nsocket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'', "
           "('1.1.1.1', 1))"});
  ASSERT_TRUE(slot_->Reset().ok());
  EXPECT_NE(RunArgv({"/bin/readlink", "/proc/self/ns/net"}).out, first);
  EXPECT_EQ(readable(), "");
}

}  // namespace
}  // namespace polybox::jail
