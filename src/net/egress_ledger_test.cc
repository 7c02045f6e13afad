#include "net/egress_ledger.h"

#include <algorithm>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

namespace polybox::net {
namespace {

class Ledger : public ::testing::Test {
 protected:
  void Ask(const std::string& host) {
    ledger_.Note({GuestBytes(host), 443, "it is not on the list"});
  }
  std::size_t Lines(const std::string& with) const {
    std::size_t count = 0;
    std::istringstream lines(log_.str());
    for (std::string line; std::getline(lines, line);)
      count += line.find(with) == std::string::npos ? 0 : 1;
    return count;
  }

  std::ostringstream log_;
  FakeClock clock_;
  EgressLedger ledger_{"guest", log::Logger::ToStream(log_, {}), clock_};
};

TEST_F(Ledger, AHostIsLoggedOncePerMinute) {
  for (int i = 0; i < 100; ++i) Ask("other.example");
  EXPECT_EQ(Lines("refused a host to a jail"), 1U) << log_.str();
  EXPECT_EQ(Lines("other.example"), 1U);
  clock_.Advance(std::chrono::seconds(61));
  Ask("other.example");
  EXPECT_EQ(Lines("other.example"), 2U);
}

TEST_F(Ledger, ManyHostsCannotFloodTheLogAndTheirNumberIsSaid) {
  for (int i = 0; i < 1000; ++i) Ask("host-" + std::to_string(i) + ".example");
  EXPECT_EQ(Lines("refused"), 16U);
  clock_.Advance(std::chrono::seconds(61));
  Ask("last.example");
  EXPECT_EQ(Lines("\"left_out\":984"), 1U) << log_.str();
  EXPECT_EQ(Lines("last.example"), 1U);
}

TEST_F(Ledger, AHostIsLoggedEscapedAndShortened) {
  Ask("a\x1b[2J\n{\"msg\":\"forged\"}\xff");
  Ask(std::string(100000, 'x'));
  const std::string text = log_.str();
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2) << text;
  EXPECT_EQ(text.find("\n{\"msg\":\"forged"), std::string::npos);
  EXPECT_LT(text.size(), 2000U);
}

TEST_F(Ledger, EveryOutcomeIsCountedUnderANameOfItsOwn) {
  std::set<std::string_view> names;
  for (const EgressOutcome outcome : kEgressOutcomes) {
    names.insert(NameOf(outcome));
    ledger_.Count(outcome);
    EXPECT_EQ(ledger_.counters()[outcome], 1U) << NameOf(outcome);
  }
  EXPECT_EQ(names.size(), kEgressOutcomes.size());
  EXPECT_EQ(ledger_.counters().refused(), kEgressOutcomes.size() - 2);
}

}  // namespace
}  // namespace polybox::net
