// What the egress proxy lets its clients reach.
#include "net/egress_proxy.h"

#include <atomic>
#include <pthread.h>
#include <sstream>

#include <gtest/gtest.h>

#include "net/connect.h"
#include "net/testing/egress_world.h"

namespace polybox::net {
namespace {

using testing::Ask;
using testing::ConnectTo;
using testing::Counted;
using testing::Dial;
using testing::InOwnNetwork;
using testing::Knowing;
using testing::kPrivateAddress;
using testing::kPublicAddress;
using testing::kWelcome;
using testing::ListenAt;
using testing::ReadSome;
using testing::Soon;
using testing::StartProxy;
using testing::Strict;
using testing::World;

/// While this object lives no thread can start: the default stack size exceeds the address space.
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

TEST(EgressProxy, AnAllowedHostIsReachedAndBytesGoBothWays) {
  const auto body = [] {
    const auto proxy = StartProxy({"public"});
    UniqueFd fd = Dial();
    // Bytes directly behind the request belong to the tunnel.
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
    EXPECT_EQ(refused[0].host, GuestBytes("private.example"));
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
      // A name whose address changes between one lookup and the next.
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

TEST(EgressProxy, NothingButConnectIsKnown) {
  const auto body = [] {
    const auto proxy = StartProxy({"public"});
    for (const char* request :
         {"GET http://good.example/ HTTP/1.1\r\nHost: good.example\r\n\r\n",
          "GET / HTTP/1.1\r\n\r\n", "POST https://good.example/ HTTP/1.1\r\n\r\n",
          "connect a:443 HTTP/1.1\r\n\r\n"}) {
      EXPECT_TRUE(Ask(request).starts_with("HTTP/1.1 405 ")) << request;
    }
    EXPECT_EQ(Counted()[EgressOutcome::kNotConnect], 4U);
    for (const char* request :
         {"\r\n\r\n", "CONNECT\r\n\r\n", "CONNECT good.example:443\r\n\r\n",
          "CONNECT good.example:443 HTTP/2.0\r\n\r\n", "CONNECT good.example HTTP/1.1\r\n\r\n",
          "CONNECT good.example:443 HTTP/1.1\r\nHost : x\r\n\r\n"}) {
      EXPECT_TRUE(Ask(request).starts_with("HTTP/1.1 400 ")) << request;
    }
    EXPECT_EQ(Counted()[EgressOutcome::kMalformed], 6U);
    EXPECT_TRUE(Ask("GET http://good.example/ HTTP/1.1\r\n\r\n").find("use https") !=
                std::string::npos);
    EXPECT_EQ(Ask(std::string(9000, 'x') + "\r\n\r\n"), "") << "a header has an end";
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
    // No host has the upstream's address. The attempt to reach it shows that these targets pass.
    for (const char* target : {"listed.example:443", "a.under.example:443", "203.0.113.20:443"}) {
      EXPECT_TRUE(ConnectTo(target).ends_with("the upstream proxy cannot be reached\n")) << target;
    }
  };
  IN_OWN_NETWORK(body);
}

}  // namespace
}  // namespace polybox::net
