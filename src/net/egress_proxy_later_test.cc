// Hosts that become known while a proxy runs, and what a proxy tells about its requests.
#include <atomic>

#include <gtest/gtest.h>

#include "base/testing/await.h"
#include "net/egress_proxy.h"
#include "net/testing/egress_world.h"

namespace polybox::net {
namespace {

using testing::ConnectTo;
using testing::Counted;
using testing::InOwnNetwork;
using testing::kWelcome;
using testing::StartProxy;
using testing::Strict;
using testing::World;

/// Knows hosts from a list, and hosts for which a request must wait until Learn() is called.
class FakeLater : public LaterHosts {
 public:
  FakeLater(std::vector<std::string> known, std::vector<std::string> learned,
            EgressPolicy::Inside inside)
      : known_(Policy(known, inside)), learned_(Policy(learned, inside)) {}

  std::shared_ptr<const EgressPolicy> Find(const HostPort& target, Wait wait,
                                           const Patience& patience) override {
    if (known_->Names(target)) return known_;
    ++waits_;
    while (wait == Wait::kYes && !done_) {
      // The wait ends when the proxy does.
      if (!AwaitNothing(patience)) return nullptr;
    }
    return done_ && learned_->Names(target) ? learned_ : nullptr;
  }

  void Learn() { done_ = true; }
  int waits() const { return waits_; }

 private:
  static std::shared_ptr<const EgressPolicy> Policy(const std::vector<std::string>& hosts,
                                                    EgressPolicy::Inside inside) {
    return std::make_shared<const EgressPolicy>(EgressPolicy::Make(hosts, "later", inside).value());
  }
  /// Waits a moment. Returns false when the time is up or the proxy ends.
  static bool AwaitNothing(const Patience& patience) {
    const Patience moment = {std::min(patience.deadline, std::chrono::steady_clock::now() +
                                                             std::chrono::milliseconds(5)),
                             -1};
    AwaitSocket(patience.stop, POLLIN, moment);
    pollfd stop = {patience.stop, POLLIN, 0};
    return ::poll(&stop, 1, 0) == 0 && std::chrono::steady_clock::now() < patience.deadline;
  }

  const std::shared_ptr<const EgressPolicy> known_;
  const std::shared_ptr<const EgressPolicy> learned_;
  std::atomic<bool> done_ = false;
  std::atomic<int> waits_ = 0;
};

EgressProxy::Options With(const std::vector<std::string>& allow, std::shared_ptr<FakeLater> later) {
  EgressProxy::Options options = Strict(allow);
  options.later = std::move(later);
  return options;
}

TEST(EgressProxyLater, AHostThatIsKnownLaterIsReachedAndOthersAreNot) {
  const auto body = [] {
    const auto later = std::make_shared<FakeLater>(std::vector<std::string>{"good.example"},
                                                   std::vector<std::string>{},
                                                   EgressPolicy::Inside::kNamedThemselves);
    later->Learn();
    const auto proxy = StartProxy({}, With({"nobody.example"}, later));
    EXPECT_EQ(ConnectTo("good.example:443"), std::string(kWelcome) + "good\n");
    EXPECT_NE(ConnectTo("other.example:443").find("it is not on the list"), std::string::npos);
    EXPECT_NE(ConnectTo("good.example:80").find("it is not on the list"), std::string::npos);
    EXPECT_EQ(Counted()[EgressOutcome::kOpened], 1U);
    EXPECT_EQ(proxy->opened(), (std::vector<HostPort>{{"good.example", 443, false}}));
  };
  IN_OWN_NETWORK(body);
}

TEST(EgressProxyLater, ARequestWaitsForHostsThatAreBeingLearned) {
  const auto body = [] {
    const auto later = std::make_shared<FakeLater>(std::vector<std::string>{},
                                                   std::vector<std::string>{"good.example"},
                                                   EgressPolicy::Inside::kNamedThemselves);
    const auto proxy = StartProxy({}, With({"nobody.example"}, later));
    std::string answer;
    std::thread client([&] { answer = ConnectTo("good.example:443"); });
    EXPECT_TRUE(polybox::testing::Await([&] { return later->waits() == 1; }));
    later->Learn();
    client.join();
    EXPECT_EQ(answer, std::string(kWelcome) + "good\n");
  };
  IN_OWN_NETWORK(body);
}

TEST(EgressProxyLater, TheEndOfTheProxyEndsTheWait) {
  const auto body = [] {
    const auto later =
        std::make_shared<FakeLater>(std::vector<std::string>{}, std::vector<std::string>{},
                                    EgressPolicy::Inside::kNamedThemselves);
    auto proxy = StartProxy({}, With({"nobody.example"}, later));
    std::thread client([&] { ConnectTo("good.example:443"); });
    EXPECT_TRUE(polybox::testing::Await([&] { return later->waits() == 1; }));
    proxy.reset();
    client.join();
  };
  IN_OWN_NETWORK(body);
}

// The owner of a name that a trial download used can point the name to an address in the operator's
// network later.
TEST(EgressProxyLater, APrivateAddressIsReachedOnlyIfTheOperatorNamedTheHost) {
  const auto body = [] {
    const std::vector<std::string> hosts = {"private.example", "mixed.example", "local.example"};
    for (const auto inside :
         {EgressPolicy::Inside::kNamedThemselves, EgressPolicy::Inside::kOfNamedHosts}) {
      const bool is_named = inside == EgressPolicy::Inside::kOfNamedHosts;
      const auto later = std::make_shared<FakeLater>(hosts, std::vector<std::string>{}, inside);
      const auto proxy = StartProxy({}, With({"public"}, later));
      for (const char* host : {"private.example:443", "local.example:443"}) {
        EXPECT_EQ(ConnectTo(host).starts_with(kWelcome), is_named) << host;
      }
    }
  };
  IN_OWN_NETWORK(body);
}

TEST(EgressProxyLater, AHostThatTheListAllowsDoesNotWait) {
  const auto body = [] {
    const auto later =
        std::make_shared<FakeLater>(std::vector<std::string>{}, std::vector<std::string>{},
                                    EgressPolicy::Inside::kNamedThemselves);
    const auto proxy = StartProxy({}, With({"public", "good.example"}, later));
    EXPECT_EQ(ConnectTo("good.example:443"), std::string(kWelcome) + "good\n");
    EXPECT_EQ(later->waits(), 0);
    EXPECT_TRUE(ConnectTo("other.example:443").starts_with(kWelcome));
  };
  IN_OWN_NETWORK(body);
}

TEST(EgressProxyLater, RefusedHostsAreToldOnceForEachCall) {
  const auto body = [] {
    const auto proxy = StartProxy({}, Strict({"good.example"}));
    for (int i = 0; i < 2; ++i) {
      ConnectTo("other.example:443");
      ConnectTo("other.example:443");
      const std::vector<Refused> refused = proxy->TakeRefused();
      ASSERT_EQ(refused.size(), 1U);
      EXPECT_EQ(refused[0].host.Reveal(), "other.example");
      EXPECT_TRUE(proxy->TakeRefused().empty());
    }
  };
  IN_OWN_NETWORK(body);
}

}  // namespace
}  // namespace polybox::net
