// What the word `registries` stands for. Clients are scripts, and trial downloads are functions of
// the test.
#include "registries/registries.h"

#include <atomic>
#include <sstream>

#include <gtest/gtest.h>

#include "base/testing/await.h"

namespace polybox::registries {
namespace {

using net::EgressPolicy;
using net::HostPort;
using Hosts = std::vector<HostPort>;
using Wait = net::LaterHosts::Wait;

const HostPort kNamed = {"named.example", 443, false};
const HostPort kTried = {"tried.example", 443, false};
const HostPort kEvil = {"evil.example", 443, false};

net::Patience Soon() {
  return {std::chrono::steady_clock::now() + std::chrono::seconds(20), -1};
}

class RegistriesTest : public ::testing::Test {
 protected:
  RegistriesTest() {
    toolchain_.roots = {"/nonexistent"};
    languages_.resize(2);
    languages_[0].id = "one";
    languages_[0].name = "One";
    languages_[1].id = "two";
    languages_[1].name = "Two";
    for (languages::Language& language : languages_) {
      language.registry.emplace();
      language.registry->ask = {"true"};
      language.registry->trial = {"trial"};
    }
  }

  void Says(std::size_t index, const std::string& answer) {
    languages_[index].registry->ask = {"printf", "%s", answer};
  }

  std::unique_ptr<Registries> Make(Trial trial) {
    auto made = std::make_unique<Registries>(
        Registries::Options{.clients = {{languages_[0], toolchain_}, {languages_[1], toolchain_}},
                            .ask = {.user = {.ids = {}, .home = "/"},
                                    .path = "/usr/bin:/bin",
                                    .variable = [](const std::string&) { return ""; }},
                            .trial = std::move(trial),
                            .learned = &learned_,
                            .setting = "workspace-egress",
                            .clock = &clock_},
        log::Logger::ToStream(log_, {}));
    made->Ask();
    return made;
  }

  languages::Toolchain toolchain_;
  std::vector<languages::Language> languages_;
  LearnedHosts learned_{""};
  FakeClock clock_;
  std::ostringstream log_;
};

Result<Hosts> NoTrial(const Client& client, const ClientAnswer&, const std::stop_token&) {
  ADD_FAILURE() << "a trial of " << client.language.id;
  return Hosts();
}

TEST_F(RegistriesTest, AHostThatAClientNamesNeedsNoTrial) {
  Says(0, "registry https://named.example/\nfile .rc\n| x\n");
  const auto registries = Make(NoTrial);
  const auto policy = registries->Find(kNamed, Wait::kYes, Soon());
  ASSERT_NE(policy, nullptr);
  EXPECT_EQ(policy->ForHost(kNamed), EgressPolicy::Reach::kAnyAddress);
  EXPECT_EQ(policy->ForHost(kEvil), EgressPolicy::Reach::kNowhere);
  EXPECT_EQ(registries->Find(kEvil, Wait::kNo, Soon()), nullptr);
  EXPECT_EQ(registries->Files(), (std::map<std::string, std::string>{{".rc", "x\n"}}));
}

TEST_F(RegistriesTest, ATrialTeachesPublicHostsOnceAndOpensNoOthers) {
  std::atomic<int> trials = 0;
  const auto registries =
      Make([&](const Client& client, const ClientAnswer&, const std::stop_token&) -> Result<Hosts> {
        ++trials;
        return client.language.id == "two" ? Hosts{kTried} : Hosts();
      });
  const auto policy = registries->Find(kTried, Wait::kYes, Soon());
  ASSERT_NE(policy, nullptr);
  EXPECT_EQ(policy->ForHost(kTried), EgressPolicy::Reach::kPublicAddress);
  EXPECT_EQ(policy->inside(), EgressPolicy::Inside::kNamedThemselves);
  const HostPort other_port = {kTried.host, 8443, false};
  for (const HostPort& host : {kEvil, other_port}) {
    EXPECT_EQ(registries->Find(host, Wait::kYes, Soon()), nullptr) << host.host;
  }
  EXPECT_EQ(trials, 2);
}

TEST_F(RegistriesTest, ClientsWithoutAConfiguredRegistryAreTriedFirst) {
  Says(0, "registry https://named.example/\n");
  std::vector<std::string> order;
  const auto registries =
      Make([&](const Client& client, const ClientAnswer&, const std::stop_token&) -> Result<Hosts> {
        order.push_back(client.language.id);
        return Hosts();
      });
  EXPECT_EQ(registries->Find(kEvil, Wait::kYes, Soon()), nullptr);
  EXPECT_EQ(order, (std::vector<std::string>{"two", "one"}));
}

TEST_F(RegistriesTest, ATrialThatFailedIsToldAndRepeatedLaterButNotAtOnce) {
  languages_[1].registry->trial.clear();
  std::atomic<int> trials = 0;
  const auto registries =
      Make([&](const Client&, const ClientAnswer&, const std::stop_token&) -> Result<Hosts> {
        if (++trials == 1) return Error(ErrorKind::kUnavailable, "no network");
        return Hosts{kTried};
      });
  for (int i = 0; i < 3; ++i) EXPECT_EQ(registries->Find(kTried, Wait::kYes, Soon()), nullptr);
  EXPECT_EQ(trials, 1);
  EXPECT_EQ(registries->Notes(),
            (std::vector<std::string>{"workspace-egress: not all package registries of One are "
                                      "known: the trial download failed: no network"}));
  clock_.Advance(Registries::kRetryAfter);
  EXPECT_NE(registries->Find(kTried, Wait::kYes, Soon()), nullptr);
  EXPECT_EQ(trials, 2);
  EXPECT_TRUE(registries->Notes().empty());
}

TEST_F(RegistriesTest, AClientThatDoesNotAnswerIsTold) {
  languages_[0].registry->ask = {"false"};
  languages_[1].registry->trial.clear();
  const auto registries = Make(NoTrial);
  EXPECT_EQ(registries->Notes(),
            (std::vector<std::string>{"workspace-egress: not all package registries of One are "
                                      "known: the client does not tell its configuration: exit "
                                      "code 1"}));
}

TEST_F(RegistriesTest, TheEndOfTheWaitLeavesTheTrialRunning) {
  std::atomic<bool> go_on = false;
  languages_[1].registry->trial.clear();
  const auto registries =
      Make([&](const Client&, const ClientAnswer&, const std::stop_token&) -> Result<Hosts> {
        polybox::testing::Await([&] { return go_on.load(); });
        return Hosts{kTried};
      });
  EXPECT_EQ(registries->Find(kTried, Wait::kYes, {std::chrono::steady_clock::now(), -1}), nullptr);
  const net::Patience short_wait = {
      std::chrono::steady_clock::now() + std::chrono::milliseconds(100), -1};
  EXPECT_EQ(registries->Find(kTried, Wait::kYes, short_wait), nullptr);
  go_on = true;
  EXPECT_NE(registries->Find(kTried, Wait::kYes, Soon()), nullptr);
}

TEST_F(RegistriesTest, ItsEndStopsATrial) {
  std::atomic<bool> begun = false;
  std::atomic<bool> stopped = false;
  auto registries =
      Make([&](const Client&, const ClientAnswer&, const std::stop_token& stop) -> Result<Hosts> {
        begun = true;
        stopped = polybox::testing::Await([&] { return stop.stop_requested(); });
        return Error(ErrorKind::kUnavailable, "stopped");
      });
  const net::Patience short_wait = {
      std::chrono::steady_clock::now() + std::chrono::milliseconds(10), -1};
  registries->Find(kTried, Wait::kYes, short_wait);
  EXPECT_TRUE(polybox::testing::Await([&] { return begun.load(); }));
  registries.reset();
  EXPECT_TRUE(stopped);
}

}  // namespace
}  // namespace polybox::registries
