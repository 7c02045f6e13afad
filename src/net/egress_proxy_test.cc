// The egress proxy in a network of the test's own, where every address that it could reach by
// mistake has someone listening.
#include "net/egress_proxy.h"

#include <atomic>
#include <fcntl.h>
#include <map>
#include <poll.h>
#include <sstream>
#include <thread>

#include <gtest/gtest.h>

#include "base/files.h"
#include "net/connect.h"
#include "net/testing/own_network.h"

namespace polybox::net {
namespace {

using testing::AddV4;
using testing::AddV6;
using testing::InOwnNetwork;

constexpr const char* kPublicAddress = "203.0.113.10";
constexpr const char* kOtherAddress = "203.0.113.20";
constexpr const char* kPrivateAddress = "10.9.8.7";

Patience Soon() {
  return {std::chrono::steady_clock::now() + std::chrono::seconds(5), -1};
}

UniqueFd ListenAt(const HostPort& where) {
  const Address address = Resolve(where).at(0);
  UniqueFd fd(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  // A new IPv6 address can be used a moment after it was added.
  int bound = ::bind(fd.get(), address.get(), address.length);
  for (int i = 0; i < 100 && bound != 0 && errno == EADDRNOTAVAIL; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    bound = ::bind(fd.get(), address.get(), address.length);
  }
  EXPECT_EQ(bound, 0) << where.host;
  EXPECT_EQ(::listen(fd.get(), 16), 0);
  return fd;
}

/// Says its name to whoever connects, then repeats what it is told.
class Host {
 public:
  Host(std::string name, const HostPort& where)
      : name_(std::move(name)), listener_(ListenAt(where)), thread_([this] { Serve(); }) {}
  ~Host() {
    stop_ = true;
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }

 private:
  void Serve() const {
    while (!stop_) {
      const UniqueFd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!client.valid()) continue;
      std::string said = name_ + "\n";
      while (!said.empty() && SendAll(client.get(), said, Soon())) {
        said.resize(4096);
        const ssize_t count = ::recv(client.get(), said.data(), said.size(), 0);
        said.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
      }
    }
  }

  std::string name_;
  UniqueFd listener_;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

/// The world: a public host that is meant, and everything that is not.
struct World {
  World() {
    ready = AddV4(kPublicAddress, 1) && AddV4(kOtherAddress, 2) && AddV4(kPrivateAddress, 3) &&
            AddV4("169.254.169.254", 4) && AddV6("2001:db8::10") && AddV6("fd00::7");
    if (!ready) return;
    hosts.emplace_back(std::make_unique<Host>("good", HostPort{kPublicAddress, 443, true}));
    hosts.emplace_back(std::make_unique<Host>("good-80", HostPort{kPublicAddress, 80, true}));
    for (const char* address : {kOtherAddress, kPrivateAddress, "127.0.0.1", "169.254.169.254",
                                "2001:db8::10", "fd00::7", "::1"}) {
      hosts.emplace_back(std::make_unique<Host>(address, HostPort{address, 443, true}));
    }
  }

  bool ready = false;
  std::vector<std::unique_ptr<Host>> hosts;
};

/// A resolver that knows only these; literal addresses are themselves.
EgressProxy::Resolver Names(std::map<std::string, std::vector<std::string>> names) {
  return [names = std::move(names)](const HostPort& target) -> std::vector<Address> {
    if (target.is_address) return Resolve(target);
    std::vector<Address> addresses;
    const auto found = names.find(target.host);
    if (found == names.end()) return {};
    for (const std::string& text : found->second) {
      addresses.push_back(Resolve({text, target.port, true}).at(0));
    }
    return addresses;
  };
}

std::unique_ptr<EgressProxy> StartProxy(const std::vector<std::string>& allow,
                                        EgressProxy::Options options = {}) {
  static std::ostringstream log;
  options.policy = EgressPolicy::Make(allow, "egress-allow").value();
  if (!options.resolve) {
    options.resolve = Names({{"good.example", {kPublicAddress}},
                             {"other.example", {kOtherAddress}},
                             {"private.example", {kPrivateAddress}},
                             {"local.example", {"127.0.0.1"}},
                             {"mapped.example", {"::ffff:10.9.8.7"}},
                             {"mixed.example", {kPrivateAddress, kPublicAddress}}});
  }
  auto proxy = EgressProxy::Start(ListenAt({"127.0.0.1", 3128, true}), std::move(options),
                                  log::Logger::ToStream(log, {}));
  EXPECT_TRUE(proxy.ok());
  return std::move(proxy).value();
}

UniqueFd Dial() {
  return Connect(Resolve({"127.0.0.1", 3128, true}).at(0), Soon()).value();
}

/// What comes back until the other side is done, or has nothing to say for a moment.
std::string ReadSome(int fd) {
  std::string text;
  std::string buffer(65536, '\0');
  while (
      AwaitSocket(fd, POLLIN, {std::chrono::steady_clock::now() + std::chrono::seconds(2), -1})) {
    const ssize_t count = ::recv(fd, buffer.data(), buffer.size(), 0);
    if (count <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(count));
    if (text.ends_with("good\n") || text.ends_with("pong\n")) break;
  }
  return text;
}

std::string Ask(const std::string& request) {
  const UniqueFd fd = Dial();
  EXPECT_TRUE(SendAll(fd.get(), request, Soon()));
  return ReadSome(fd.get());
}

std::string ConnectTo(const std::string& target) {
  return Ask("CONNECT " + target + " HTTP/1.1\r\nHost: " + target + "\r\n\r\n");
}

/// Skips, with the reason, where a test may have no network of its own.
#define IN_OWN_NETWORK(body)                                                   \
  do {                                                                         \
    if (::geteuid() != 0) GTEST_SKIP() << "a network of one's own needs root"; \
    ASSERT_TRUE(InOwnNetwork([&] {                                             \
      const World world;                                                       \
      ASSERT_TRUE(world.ready);                                                \
      body();                                                                  \
    }));                                                                       \
  } while (false)

constexpr const char* kWelcome = "HTTP/1.1 200 Connection established\r\n\r\n";

TEST(EgressProxy, WhatIsAllowedIsReachedAndBytesGoBothWays) {
  const auto body = [] {
    const auto proxy = StartProxy({"public"});
    UniqueFd fd = Dial();
    // What follows the request at once belongs into the tunnel.
    ASSERT_TRUE(SendAll(fd.get(), "CONNECT good.example:443 HTTP/1.1\r\n\r\nping ", Soon()));
    EXPECT_EQ(ReadSome(fd.get()).substr(0, 44), std::string(kWelcome) + "good\n");
    ASSERT_TRUE(SendAll(fd.get(), "pong\n", Soon()));
    EXPECT_TRUE(ReadSome(fd.get()).ends_with("pong\n"));
    const EgressCounters counters = proxy->counters();
    EXPECT_EQ(counters.tunnels, 1U);
    EXPECT_EQ(counters.bytes_out, 5U) << "what came with the request is not counted twice";
    fd.reset();
    EXPECT_EQ(ConnectTo(std::string(kPublicAddress) + ":443"), std::string(kWelcome) + "good\n");
  };
  IN_OWN_NETWORK(body);
}

TEST(EgressProxy, NoSpellingReachesWhatIsNotPublic) {
  const auto body = [] {
    const auto proxy = StartProxy({"public"});
    for (const char* target :
         {"private.example:443", "local.example:443", "mapped.example:443", "10.9.8.7:443",
          "127.0.0.1:443", "169.254.169.254:443", "[::1]:443", "[fd00::7]:443",
          "[::ffff:10.9.8.7]:443", "[::ffff:127.0.0.1]:443", "[::ffff:7f00:1]:443",
          "[::10.9.8.7]:443", "[64:ff9b::a09:807]:443", "0.0.0.0:443", "[::]:443"}) {
      const std::string answer = ConnectTo(target);
      EXPECT_TRUE(answer.starts_with("HTTP/1.1 403 Forbidden\r\n")) << target << ": " << answer;
    }
    for (const char* target : {"2130706433:443", "0x7f000001:443", "0177.0.0.1:443", "127.1:443",
                               "0x7f.0.0.1:443", "168364039:443", "localhost%00:443"}) {
      const std::string answer = ConnectTo(target);
      EXPECT_TRUE(answer.starts_with("HTTP/1.1 400 Bad Request\r\n")) << target << ": " << answer;
    }
    for (const char* target : {"good.example:80", "good.example:22", "203.0.113.10:80"}) {
      EXPECT_TRUE(ConnectTo(target).starts_with("HTTP/1.1 403 ")) << target;
    }
    EXPECT_EQ(proxy->counters().tunnels, 0U);
    EXPECT_EQ(proxy->counters().refused, 25U);
  };
  IN_OWN_NETWORK(body);
}

TEST(EgressProxy, AListOfHostsIsAllThereIs) {
  const auto body = [] {
    const auto proxy = StartProxy({"good.example", "private.example"});
    EXPECT_EQ(ConnectTo("good.example:443"), std::string(kWelcome) + "good\n");
    EXPECT_TRUE(ConnectTo("private.example:443").starts_with("HTTP/1.1 200 ")) << "it is named";
    for (const char* target : {"other.example:443", "203.0.113.20:443", "203.0.113.10:443",
                               "10.9.8.7:443", "x.good.example:443", "[2001:db8::10]:443"}) {
      EXPECT_TRUE(ConnectTo(target).starts_with("HTTP/1.1 403 ")) << target;
    }
  };
  IN_OWN_NETWORK(body);
}

TEST(EgressProxy, ARefusalSaysWhyAndWhichSettingAllowsIt) {
  const auto body = [] {
    const auto proxy = StartProxy({"public"});
    const std::string answer = ConnectTo("private.example:443");
    EXPECT_TRUE(answer.ends_with(
        "\r\n\r\npolybox: private.example:443 may not be reached: its address 10.9.8.7 is not a "
        "public one; the setting egress-allow with \"private.example\" would allow it\n"))
        << answer;
    ConnectTo("private.example:443");
    ConnectTo("good.example:8443");
    const std::vector<Refused> refused = proxy->refused();
    ASSERT_EQ(refused.size(), 2U) << "each once";
    EXPECT_EQ(refused[0].host, "private.example");
    EXPECT_EQ(Explain(refused[1], "egress-allow"),
              "good.example:8443 may not be reached: it is not on the list; the setting "
              "egress-allow with \"good.example:8443\" would allow it");
  };
  IN_OWN_NETWORK(body);
}

TEST(EgressProxy, TheAddressThatWasCheckedIsTheOneThatIsReached) {
  const auto body = [] {
    int asked = 0;
    EgressProxy::Options options;
    options.resolve = [&](const HostPort& target) -> std::vector<Address> {
      // A name that changes its mind between one question and the next.
      return Resolve({++asked == 1 ? kPublicAddress : kPrivateAddress, target.port, true});
    };
    const auto proxy = StartProxy({"public"}, std::move(options));
    EXPECT_EQ(ConnectTo("rebind.example:443"), std::string(kWelcome) + "good\n");
    EXPECT_EQ(asked, 1);
    EXPECT_TRUE(ConnectTo("rebind.example:443").starts_with("HTTP/1.1 403 "));
  };
  IN_OWN_NETWORK(body);
}

TEST(EgressProxy, OfSeveralAddressesOnlyThePublicOnesAreTried) {
  const auto body = [] {
    const auto proxy = StartProxy({"public"});
    EXPECT_EQ(ConnectTo("mixed.example:443"), std::string(kWelcome) + "good\n");
    EXPECT_TRUE(ConnectTo("unknown.example:443").starts_with("HTTP/1.1 502 Bad Gateway\r\n"));
    EXPECT_EQ(proxy->counters().failed, 1U);
  };
  IN_OWN_NETWORK(body);
}

TEST(EgressProxy, NothingButConnectIsKnown) {
  const auto body = [] {
    const auto proxy = StartProxy({"public"});
    for (const char* request :
         {"GET http://good.example/ HTTP/1.1\r\nHost: good.example\r\n\r\n",
          "GET / HTTP/1.1\r\n\r\n", "POST https://good.example/ HTTP/1.1\r\n\r\n", "\r\n\r\n",
          "CONNECT\r\n\r\n", "CONNECT good.example:443\r\n\r\n",
          "connect a:443 HTTP/1.1\r\n\r\n"}) {
      EXPECT_TRUE(Ask(request).starts_with("HTTP/1.1 405 ")) << request;
    }
    EXPECT_EQ(Ask(std::string(9000, 'x') + "\r\n\r\n"), "") << "a header has an end";
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
    // Two that never say anything hold the proxy only until their time is up.
    const UniqueFd first = Dial();
    const UniqueFd second = Dial();
    EXPECT_EQ(ConnectTo("good.example:443"), std::string(kWelcome) + "good\n");
    const UniqueFd talker = Dial();
    ASSERT_TRUE(SendAll(talker.get(), "CONNECT good.example:443 HTTP/1.1\r\n\r\n", Soon()));
    EXPECT_TRUE(ReadSome(talker.get()).ends_with("good\n"));
    SendAll(talker.get(), std::string(3000, 'x'), Soon());
    EXPECT_LT(ReadSome(talker.get()).size(), 3000U);
  };
  IN_OWN_NETWORK(body);
}

TEST(EgressProxy, AnUpstreamProxyIsAskedForNamesAndNeverForWhatIsRefusedHere) {
  const auto body = [] {
    const UniqueFd listener = ListenAt({kPrivateAddress, 8080, true});
    std::string seen;
    std::thread upstream([&] {
      const UniqueFd client(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
      std::string rest;
      seen = ReadHeader(client.get(), Bytes::KiB(8), Soon(), rest);
      SendAll(client.get(), "HTTP/1.1 200 OK\r\nVia: x\r\n\r\ngood\n", Soon());
    });
    EgressProxy::Options options;
    options.upstream = {kPrivateAddress, 8080, "Basic eDp5", {"direct.example"}};
    options.resolve =
        Names({{kPrivateAddress, {kPrivateAddress}}, {"direct.example", {kPublicAddress}}});
    const auto proxy = StartProxy({"public"}, std::move(options));
    EXPECT_TRUE(ConnectTo("10.9.8.7:443").starts_with("HTTP/1.1 403 "));
    EXPECT_TRUE(ConnectTo("else.example:80").starts_with("HTTP/1.1 403 "));
    EXPECT_EQ(ConnectTo("direct.example:443"), std::string(kWelcome) + "good\n");
    EXPECT_EQ(ConnectTo("else.example:443"), std::string(kWelcome) + "good\n");
    upstream.join();
    EXPECT_EQ(seen,
              "CONNECT else.example:443 HTTP/1.1\r\nHost: else.example:443\r\n"
              "Proxy-Authorization: Basic eDp5\r\n\r\n");
  };
  IN_OWN_NETWORK(body);
}

}  // namespace
}  // namespace polybox::net
