// The world of the tests of egress_proxy.h: a network namespace in which a host listens on every
// address that the proxy could reach by mistake, and a proxy at 127.0.0.1:3128.
#pragma once

#include <map>
#include <memory>
#include <poll.h>
#include <sstream>
#include <string>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "net/connect.h"
#include "net/egress_proxy.h"
#include "net/testing/host.h"
#include "net/testing/own_network.h"

namespace polybox::net::testing {

inline constexpr const char* kPublicAddress = "203.0.113.10";
inline constexpr const char* kOtherAddress = "203.0.113.20";
inline constexpr const char* kPrivateAddress = "10.9.8.7";

/// A public host that the proxy may reach, and hosts that it may not reach.
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

/// A lookup function that knows only these names; literal addresses resolve to themselves.
inline NameResolver::Lookup Names(std::map<std::string, std::vector<std::string>> names) {
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

inline std::shared_ptr<NameResolver> Knowing(
    std::map<std::string, std::vector<std::string>> names) {
  return std::make_shared<NameResolver>(Names(std::move(names)));
}

/// The ledger of the proxy that was started last.
inline std::shared_ptr<EgressLedger>& LedgerOfLast() {
  static std::shared_ptr<EgressLedger> ledger;
  return ledger;
}
inline EgressCounters Counted() {
  return LedgerOfLast()->counters();
}

inline std::unique_ptr<EgressProxy> StartProxy(const std::vector<std::string>& allow,
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
  LedgerOfLast() = std::make_shared<EgressLedger>("guest", log::Logger::ToStream(log, {}));
  auto proxy =
      EgressProxy::Start(ListenAt({"127.0.0.1", 3128, true}), std::move(options), LedgerOfLast());
  EXPECT_TRUE(proxy.ok());
  return std::move(proxy).value();
}

inline UniqueFd Dial() {
  return Connect(Resolve({"127.0.0.1", 3128, true}).at(0), Soon()).value();
}

/// Reads until the other side closes, is silent for two seconds, or ends its answer.
inline std::string ReadSome(int fd) {
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

inline std::string Ask(const std::string& request) {
  const UniqueFd fd = Dial();
  EXPECT_TRUE(SendAll(fd.get(), request, Soon()));
  return ReadSome(fd.get());
}

inline std::string ConnectTo(const std::string& target) {
  return Ask("CONNECT " + target + " HTTP/1.1\r\nHost: " + target + "\r\n\r\n");
}

/// Skips the test, with the reason, where it cannot have a network namespace.
#define IN_OWN_NETWORK(body)                                                   \
  do {                                                                         \
    if (::geteuid() != 0) GTEST_SKIP() << "a network of one's own needs root"; \
    ASSERT_TRUE(InOwnNetwork([&] {                                             \
      const World world;                                                       \
      ASSERT_TRUE(world.ready);                                                \
      body();                                                                  \
    }));                                                                       \
  } while (false)

inline constexpr const char* kWelcome = "HTTP/1.1 200 Connection established\r\n\r\n";

/// The options of the proxies for guests.
inline EgressProxy::Options Strict(const std::vector<std::string>& allow) {
  EgressProxy::Options options;
  options.policy =
      EgressPolicy::Make(allow, "guest-egress", EgressPolicy::Inside::kNamedThemselves).value();
  return options;
}

}  // namespace polybox::net::testing
