// The egress proxy in a network of the test's own, where every address that it could reach by
// mistake has someone listening.
#include "net/egress_proxy.h"

#include <atomic>
#include <fcntl.h>
#include <future>
#include <map>
#include <poll.h>
#include <pthread.h>
#include <sstream>
#include <thread>

#include <gtest/gtest.h>

#include "base/files.h"
#include "net/connect.h"
#include "net/testing/host.h"
#include "net/testing/own_network.h"

namespace polybox::net {
namespace {

using testing::AddV4;
using testing::AddV6;
using testing::Host;
using testing::InOwnNetwork;
using testing::ListenAt;
using testing::Soon;

constexpr const char* kPublicAddress = "203.0.113.10";
constexpr const char* kOtherAddress = "203.0.113.20";
constexpr const char* kPrivateAddress = "10.9.8.7";

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
NameResolver::Lookup Names(std::map<std::string, std::vector<std::string>> names) {
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

std::shared_ptr<NameResolver> Knowing(std::map<std::string, std::vector<std::string>> names) {
  return std::make_shared<NameResolver>(Names(std::move(names)));
}

/// Of the proxy that was started last.
std::shared_ptr<EgressLedger> ledger_of_last;
EgressCounters Counted() {
  return ledger_of_last->counters();
}

std::unique_ptr<EgressProxy> StartProxy(const std::vector<std::string>& allow,
                                        EgressProxy::Options options = {}) {
  static std::ostringstream log;
  if (options.policy.empty()) options.policy = EgressPolicy::Make(allow, "egress-allow").value();
  if (!options.resolver) {
    options.resolver = Knowing({{"good.example", {kPublicAddress}},
                                {"other.example", {kOtherAddress}},
                                {"private.example", {kPrivateAddress}},
                                {"local.example", {"127.0.0.1"}},
                                {"mapped.example", {"::ffff:10.9.8.7"}},
                                {"mixed.example", {kPrivateAddress, kPublicAddress}}});
  }
  ledger_of_last = std::make_shared<EgressLedger>("guest", log::Logger::ToStream(log, {}));
  auto proxy =
      EgressProxy::Start(ListenAt({"127.0.0.1", 3128, true}), std::move(options), ledger_of_last);
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

/// While it lives no thread can be made: each would want more room for its stack than there is.
class NoMoreThreads {
 public:
  NoMoreThreads() {
    ::pthread_attr_t wide;
    ::pthread_getattr_default_np(&before_);
    ::pthread_getattr_default_np(&wide);
    ::pthread_attr_setstacksize(&wide, std::size_t{1} << 62U);
    ::pthread_setattr_default_np(&wide);
    ::pthread_attr_destroy(&wide);
  }
  ~NoMoreThreads() {
    ::pthread_setattr_default_np(&before_);
    ::pthread_attr_destroy(&before_);
  }
  NoMoreThreads(const NoMoreThreads&) = delete;
  NoMoreThreads& operator=(const NoMoreThreads&) = delete;

 private:
  ::pthread_attr_t before_;
};

TEST(EgressProxy, WithoutAThreadThereIsAnErrorAndNoEnd) {
  std::ostringstream log;
  const auto ledger = std::make_shared<EgressLedger>("guest", log::Logger::ToStream(log, {}));
  UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const NoMoreThreads none;
  const auto proxy = EgressProxy::Start(std::move(listener), {}, ledger);
  ASSERT_FALSE(proxy.ok());
  EXPECT_EQ(proxy.error().system_errno(), EAGAIN) << proxy.error().message();
}

TEST(EgressProxy, WhatIsAllowedIsReachedAndBytesGoBothWays) {
  const auto body = [] {
    const auto proxy = StartProxy({"public"});
    UniqueFd fd = Dial();
    // What follows the request at once belongs into the tunnel.
    ASSERT_TRUE(SendAll(fd.get(), "CONNECT good.example:443 HTTP/1.1\r\n\r\nping ", Soon()));
    EXPECT_EQ(ReadSome(fd.get()).substr(0, 44), std::string(kWelcome) + "good\n");
    ASSERT_TRUE(SendAll(fd.get(), "pong\n", Soon()));
    EXPECT_TRUE(ReadSome(fd.get()).ends_with("pong\n"));
    const EgressCounters counters = Counted();
    EXPECT_EQ(counters[EgressOutcome::kOpened], 1U);
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
    using std::string_literals::operator""s;
    for (const std::string& target :
         {"203.0.113.10\0.corp:443"s, "[2001:db8::10\0\nx-injected: yes]:443"s,
          "good.example:443\nx-injected: yes"s, "good\x01.example:443"s}) {
      const std::string answer = ConnectTo(target);
      EXPECT_TRUE(answer.starts_with("HTTP/1.1 400 Bad Request\r\n")) << target << ": " << answer;
    }
    for (const char* target : {"good.example:80", "good.example:22", "203.0.113.10:80"}) {
      EXPECT_TRUE(ConnectTo(target).starts_with("HTTP/1.1 403 ")) << target;
    }
    EXPECT_EQ(Counted()[EgressOutcome::kOpened], 0U);
    EXPECT_EQ(Counted().refused(), 29U);
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
    std::atomic<int> asked = 0;
    EgressProxy::Options options;
    options.resolver = std::make_shared<NameResolver>([&](const HostPort& target) {
      // A name that changes its mind between one question and the next.
      return Resolve({++asked == 1 ? kPublicAddress : kPrivateAddress, target.port, true});
    });
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
    EXPECT_EQ(Counted()[EgressOutcome::kUnreachable], 1U);
  };
  IN_OWN_NETWORK(body);
}

/// What guests get.
EgressProxy::Options Strict(const std::vector<std::string>& allow) {
  EgressProxy::Options options;
  options.policy =
      EgressPolicy::Make(allow, "guest-egress", EgressPolicy::Inside::kNamedThemselves).value();
  return options;
}

TEST(EgressProxy, AListForGuestsGivesNoAddressInsideThatItDoesNotName) {
  const auto body = [] {
    {
      const auto proxy = StartProxy(
          {}, Strict({"good.example", "private.example", "local.example", "mapped.example"}));
      EXPECT_EQ(ConnectTo("good.example:443"), std::string(kWelcome) + "good\n");
      for (const char* target :
           {"private.example:443", "local.example:443", "mapped.example:443", "10.9.8.7:443"}) {
        EXPECT_TRUE(ConnectTo(target).starts_with("HTTP/1.1 403 ")) << target;
      }
      EXPECT_TRUE(ConnectTo("private.example:443")
                      .ends_with("\r\n\r\npolybox: private.example:443 may not be reached: its "
                                 "address is not a public one; the setting guest-egress with its "
                                 "address, which the log has, would allow it\n"));
      EXPECT_EQ(Counted()[EgressOutcome::kNotPublic], 4U);
      EXPECT_EQ(Counted()[EgressOutcome::kNotListed], 1U);
    }
    const auto proxy = StartProxy({}, Strict({"private.example", "local.example", "10.9.8.7"}));
    EXPECT_TRUE(ConnectTo("private.example:443").starts_with("HTTP/1.1 200 ")) << "both are named";
    EXPECT_TRUE(ConnectTo("10.9.8.7:443").starts_with("HTTP/1.1 200 "));
    EXPECT_TRUE(ConnectTo("local.example:443").starts_with("HTTP/1.1 403 "));
  };
  IN_OWN_NETWORK(body);
}

TEST(EgressProxy, AGuestHearsTheSameOfANameInsideAndOfOneThatIsNowhere) {
  const auto body = [] {
    const auto proxy = StartProxy({}, Strict({"private.example", "nowhere.example"}));
    const std::string inside = ConnectTo("private.example:443");
    std::string nowhere = ConnectTo("nowhere.example:443");
    nowhere.replace(nowhere.find("nowhere"), 7, "private");
    EXPECT_TRUE(inside.starts_with("HTTP/1.1 403 "));
    EXPECT_EQ(inside, nowhere) << "but for the length of the name, which is the same";
    EXPECT_EQ(Counted()[EgressOutcome::kNotPublic], 1U);
    EXPECT_EQ(Counted()[EgressOutcome::kUnreachable], 1U) << "the operator knows better";
  };
  IN_OWN_NETWORK(body);
}

TEST(EgressProxy, ANameOffTheListIsNotEvenLookedUp) {
  const auto body = [] {
    std::atomic<int> asked = 0;
    EgressProxy::Options options = Strict({"good.example", "*.good.example"});
    options.resolver = std::make_shared<NameResolver>([&](const HostPort& target) {
      ++asked;
      return Resolve({kPublicAddress, target.port, true});
    });
    const auto proxy = StartProxy({}, std::move(options));
    for (const char* target : {"secret.other.example:443", "good.example.other.example:443",
                               "xgood.example:443", "good.example:80"}) {
      EXPECT_TRUE(ConnectTo(target).starts_with("HTTP/1.1 403 ")) << target;
    }
    EXPECT_EQ(asked, 0);
    EXPECT_TRUE(ConnectTo("a.good.example:443").starts_with("HTTP/1.1 200 "));
    EXPECT_EQ(asked, 1);
  };
  IN_OWN_NETWORK(body);
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

TEST(EgressProxy, WhoeverCameBeforeTheDoorWasOpenedStaysOutside) {
  const auto body = [] {
    const std::string request = "CONNECT good.example:443 HTTP/1.1\r\n\r\n";
    EgressProxy::Options options = Strict({"good.example"});
    options.door = EgressProxy::Door::kClosed;
    options.limits.connections = 1;
    const auto proxy = StartProxy({}, std::move(options));
    // The one that is accepted has not asked yet, so the other waits.
    const UniqueFd accepted = Dial();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
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

TEST(EgressProxy, ItsEndIsTheEndOfItsTunnelsAndWaitsForNoName) {
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
    while (!looking) std::this_thread::sleep_for(std::chrono::milliseconds(1));
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
    // Each leaves one behind, as many as it may have. The memory of one is soon that of another.
    for (int i = 0; i < 8; ++i) {
      EgressProxy::Options options;
      options.resolver = resolver;
      const auto proxy = StartProxy({"public"}, std::move(options));
      const UniqueFd asker = Dial();
      ASSERT_TRUE(SendAll(asker.get(), "CONNECT slow.example:443 HTTP/1.1\r\n\r\n", Soon()));
      const auto deadline = Soon().deadline;
      while (*looking <= i && std::chrono::steady_clock::now() < deadline) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      EXPECT_EQ(*looking, i + 1);
    }
    gate.set_value();
  };
  IN_OWN_NETWORK(body);
}

/// How much can be sent into a tunnel whose other end takes nothing.
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
    EXPECT_EQ(Counted()[EgressOutcome::kNotConnect], 7U);
    EXPECT_TRUE(Ask("GET http://good.example/ HTTP/1.1\r\n\r\n").find("use https") !=
                std::string::npos);
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
    options.resolver =
        Knowing({{kPrivateAddress, {kPrivateAddress}}, {"direct.example", {kPublicAddress}}});
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

TEST(EgressProxy, BehindAnUpstreamProxyAGuestGetsOnlyNamesThatAreListed) {
  const auto body = [] {
    EgressProxy::Options options = Strict({"public", "listed.example", "*.under.example"});
    options.upstream = {kPrivateAddress, 8080, "", {"direct.example"}};
    options.resolver = Knowing({{"direct.example", {kPublicAddress}}});
    const auto proxy = StartProxy({}, std::move(options));
    const std::string answer = ConnectTo("intranet.example:443");
    EXPECT_TRUE(
        answer.ends_with("behind an upstream proxy only named hosts are given; the setting "
                         "guest-egress with \"intranet.example\" would allow it\n"))
        << answer;
    EXPECT_EQ(Counted()[EgressOutcome::kNotListed], 1U);
    EXPECT_EQ(ConnectTo("direct.example:443"), std::string(kWelcome) + "good\n");
    // Nobody is at the upstream's address: that it is asked shows that these may pass.
    for (const char* target : {"listed.example:443", "a.under.example:443", "203.0.113.20:443"}) {
      EXPECT_TRUE(ConnectTo(target).ends_with("the upstream proxy cannot be reached\n")) << target;
    }
  };
  IN_OWN_NETWORK(body);
}

}  // namespace
}  // namespace polybox::net
