// The door of the egress proxy, its end, and the limits of its connections.
#include <atomic>
#include <future>
#include <poll.h>

#include <gtest/gtest.h>

#include "base/testing/await.h"
#include "net/connect.h"
#include "net/egress_proxy.h"
#include "net/testing/egress_world.h"
#include "net/testing/socket_queue.h"

namespace polybox::net {
namespace {

using testing::ConnectTo;
using testing::Counted;
using testing::Dial;
using testing::InOwnNetwork;
using testing::kPublicAddress;
using testing::kWelcome;
using testing::ListenAt;
using testing::ReadSome;
using testing::Soon;
using testing::StartProxy;
using testing::Strict;
using testing::World;

/// Waits until the proxy has accepted all connections to it.
bool NobodyWaits() {
  sockaddr_in proxy{};
  proxy.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  proxy.sin_port = htons(3128);
  return polybox::testing::Await([&] { return testing::ReceiveQueue(proxy, {}) == 0U; });
}

TEST(EgressProxy, ADoorThatNobodyCameToIsClosedForGood) {
  const auto body = [] {
    const auto proxy = StartProxy({}, Strict({"good.example"}));
    EXPECT_TRUE(proxy->Close());
    EXPECT_TRUE(ConnectTo("good.example:443").starts_with("HTTP/1.1 403 "));
    EXPECT_EQ(Counted()[EgressOutcome::kOpened], 0U);
  };
  IN_OWN_NETWORK(body);
}

TEST(EgressProxy, AClosedDoorRefusesAllUntilItIsOpened) {
  const auto body = [] {
    EgressProxy::Options options = Strict({"good.example"});
    options.door = EgressProxy::Door::kClosed;
    const auto proxy = StartProxy({}, std::move(options));
    const std::string answer = ConnectTo("good.example:443");
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 403 ")) << answer;
    EXPECT_TRUE(
        answer.ends_with("only the program itself may reach hosts, nothing that runs "
                         "before it\n"))
        << answer;
    EXPECT_EQ(Counted()[EgressOutcome::kNotYet], 1U);
    proxy->Open();
    EXPECT_EQ(ConnectTo("good.example:443"), std::string(kWelcome) + "good\n");
    EXPECT_FALSE(proxy->Close()) << "there may be a tunnel";
    EXPECT_TRUE(ConnectTo("good.example:443").starts_with("HTTP/1.1 403 "));
  };
  IN_OWN_NETWORK(body);
}

TEST(EgressProxy, ConnectionsFromBeforeTheDoorOpenedAreRefused) {
  const auto body = [] {
    const std::string request = "CONNECT good.example:443 HTTP/1.1\r\n\r\n";
    EgressProxy::Options options = Strict({"good.example"});
    options.door = EgressProxy::Door::kClosed;
    options.limits.connections = 1;
    const auto proxy = StartProxy({}, std::move(options));
    // The accepted connection has not sent its request, so the other one waits.
    const UniqueFd accepted = Dial();
    ASSERT_TRUE(NobodyWaits());
    const UniqueFd waiting = Dial();
    ASSERT_TRUE(SendAll(waiting.get(), request, Soon()));
    proxy->Open();
    ASSERT_EQ(ReadSome(waiting.get()), "");
    SendAll(accepted.get(), request, Soon());
    EXPECT_EQ(ReadSome(accepted.get()).find("200"), std::string::npos);
    EXPECT_EQ(ConnectTo("good.example:443"), std::string(kWelcome) + "good\n");
    EXPECT_EQ(Counted()[EgressOutcome::kOpened], 1U);
    EXPECT_EQ(Counted()[EgressOutcome::kNotYet], 2U);
  };
  IN_OWN_NETWORK(body);
}

TEST(EgressProxy, TheEndOfAProxyEndsItsTunnelsAndWaitsForNoName) {
  const auto body = [] {
    std::atomic<bool> looking = false;
    const auto gate = std::make_shared<std::promise<void>>();
    const std::shared_future<void> opened = gate->get_future().share();
    EgressProxy::Options options = Strict({"good.example", "slow.example"});
    options.resolver = std::make_shared<NameResolver>([&, opened](const HostPort& target) {
      if (target.host == "slow.example") {
        looking = true;
        opened.wait();
      }
      return Resolve({kPublicAddress, target.port, true});
    });
    auto proxy = StartProxy({}, std::move(options));
    const UniqueFd tunnel = Dial();
    ASSERT_TRUE(SendAll(tunnel.get(), "CONNECT good.example:443 HTTP/1.1\r\n\r\n", Soon()));
    EXPECT_TRUE(ReadSome(tunnel.get()).ends_with("good\n"));
    const UniqueFd waiting = Dial();
    ASSERT_TRUE(SendAll(waiting.get(), "CONNECT slow.example:443 HTTP/1.1\r\n\r\n", Soon()));
    ASSERT_TRUE(polybox::testing::Await([&] { return looking.load(); }));
    proxy.reset();
    char byte = 0;
    EXPECT_TRUE(AwaitSocket(tunnel.get(), POLLIN, Soon()));
    EXPECT_LE(::recv(tunnel.get(), &byte, 1, 0), 0);
    gate->set_value();
  };
  IN_OWN_NETWORK(body);
}

TEST(EgressProxy, LookupsOfOneThatIsGoneCountAgainstNoOther) {
  const auto body = [] {
    const auto looking = std::make_shared<std::atomic<int>>(0);
    std::promise<void> gate;
    const auto resolver = std::make_shared<NameResolver>(
        [looking, opened = gate.get_future().share()](const HostPort& target) {
          if (target.host == "slow.example") {
            ++*looking;
            opened.wait();
          }
          return Resolve({kPublicAddress, target.port, true});
        },
        NameResolver::Limits{.lookups = 32, .per_asker = 1});
    // Each proxy leaves one lookup, its limit. The memory of a proxy is soon reused by another.
    for (int i = 0; i < 8; ++i) {
      EgressProxy::Options options;
      options.resolver = resolver;
      const auto proxy = StartProxy({"public"}, std::move(options));
      const UniqueFd asker = Dial();
      ASSERT_TRUE(SendAll(asker.get(), "CONNECT slow.example:443 HTTP/1.1\r\n\r\n", Soon()));
      EXPECT_TRUE(polybox::testing::Await([&] { return *looking > i; }));
      EXPECT_EQ(*looking, i + 1);
    }
    gate.set_value();
  };
  IN_OWN_NETWORK(body);
}

/// Returns how many bytes can be sent into a tunnel whose other end reads nothing.
std::size_t SentUntilFull(int fd) {
  constexpr std::size_t kEnough = std::size_t{32} << 20U;
  const std::string bytes(65536, 'x');
  std::size_t sent = 0;
  while (sent < kEnough) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
    if (!AwaitSocket(fd, POLLOUT, {deadline, -1})) break;
    const ssize_t count = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count < 0 && errno != EAGAIN) break;
    sent += count > 0 ? static_cast<std::size_t>(count) : 0;
  }
  return sent;
}

TEST(EgressProxy, ATunnelHoldsLittleOfTheMachinesMemory) {
  const auto body = [] {
    const int small = 65536;
    const UniqueFd deaf = ListenAt({kPublicAddress, 8443, true});
    ASSERT_EQ(::setsockopt(deaf.get(), SOL_SOCKET, SO_RCVBUF, &small, sizeof small), 0);
    const auto proxy = StartProxy({"203.0.113.10:8443"});
    const UniqueFd fd = Dial();
    ASSERT_EQ(::setsockopt(fd.get(), SOL_SOCKET, SO_SNDBUF, &small, sizeof small), 0);
    ASSERT_TRUE(SendAll(fd.get(), "CONNECT 203.0.113.10:8443 HTTP/1.1\r\n\r\n", Soon()));
    EXPECT_EQ(ReadSome(fd.get()), kWelcome);
    const std::size_t sent = SentUntilFull(fd.get());
    EXPECT_GT(sent, 0U);
    EXPECT_LT(sent, std::size_t{2} << 20U);
  };
  IN_OWN_NETWORK(body);
}

TEST(EgressProxy, SilenceManyConnectionsAndTooMuchTrafficEnd) {
  const auto body = [] {
    EgressProxy::Options options;
    options.limits.request_time = std::chrono::milliseconds(200);
    options.limits.idle_time = std::chrono::milliseconds(200);
    options.limits.connections = 2;
    options.limits.traffic = Bytes(2000);
    const auto proxy = StartProxy({"public"}, std::move(options));
    // Two silent clients hold the proxy only until their timeout.
    const UniqueFd first = Dial();
    const UniqueFd second = Dial();
    EXPECT_EQ(ConnectTo("good.example:443"), std::string(kWelcome) + "good\n");
    const UniqueFd talker = Dial();
    ASSERT_TRUE(SendAll(talker.get(), "CONNECT good.example:443 HTTP/1.1\r\n\r\n", Soon()));
    EXPECT_TRUE(ReadSome(talker.get()).ends_with("good\n"));
    SendAll(talker.get(), std::string(3000, 'x'), Soon());
    EXPECT_LT(ReadSome(talker.get()).size(), 3000U);
    const std::string answer = ConnectTo("good.example:443");
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 403 ")) << answer;
    EXPECT_TRUE(answer.ends_with("all tunnels together may move 2000 bytes, and have\n")) << answer;
    EXPECT_EQ(Counted()[EgressOutcome::kOverTraffic], 1U);
  };
  IN_OWN_NETWORK(body);
}

TEST(EgressProxy, ConnectionsAreTakenAtAPace) {
  const auto body = [] {
    EgressProxy::Options options;
    options.limits.per_second = 5;
    const auto proxy = StartProxy({"good.example"}, std::move(options));
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < 12; ++i) {
      EXPECT_TRUE(ConnectTo("other.example:443").starts_with("HTTP/1.1 403 "));
    }
    EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(1500));
  };
  IN_OWN_NETWORK(body);
}

}  // namespace
}  // namespace polybox::net
