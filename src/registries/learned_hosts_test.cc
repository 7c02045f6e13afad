// What is kept of trial downloads.
#include "registries/learned_hosts.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/testing/temp_dir.h"

namespace polybox::registries {
namespace {

using Hosts = std::vector<net::HostPort>;

const Hosts kSome = {{"files.example.com", 443, false}, {"2001:db8::1", 8443, true}};

class LearnedHostsTest : public ::testing::Test {
 protected:
  polybox::testing::TempDir directory_;
  const std::string file_ = directory_.path() + "/hosts";
  FakeClock clock_;
};

TEST_F(LearnedHostsTest, WhatIsPutIsFoundByAnotherServer) {
  LearnedHosts one(file_, clock_);
  EXPECT_EQ(one.Get("a"), std::nullopt);
  ASSERT_TRUE(one.Put("a", kSome).ok());
  ASSERT_TRUE(one.Put("b", {}).ok());
  const LearnedHosts other(file_, clock_);
  EXPECT_EQ(other.Get("a"), kSome);
  EXPECT_EQ(other.Get("b"), Hosts());
  EXPECT_EQ(other.Get("c"), std::nullopt);
}

TEST_F(LearnedHostsTest, OldHostsAreForgotten) {
  LearnedHosts learned(file_, clock_);
  ASSERT_TRUE(learned.Put("a", kSome).ok());
  clock_.Advance(LearnedHosts::kValid);
  EXPECT_EQ(learned.Get("a"), kSome);
  clock_.Advance(std::chrono::seconds(1));
  EXPECT_EQ(learned.Get("a"), std::nullopt);
}

TEST_F(LearnedHostsTest, ADamagedFileHasNoHosts) {
  for (const char* content :
       {"", "\n\n", "a", "a x good.example:443", "a 0 good.example",
        "a 0 good.example:443 bad_host:", "a 99999999999 good.example:443", "a 0 *.example:443"}) {
    ASSERT_TRUE(ReplaceFile(file_, std::string(content) + "\nb 0 good.example:443\n").ok());
    const LearnedHosts learned(file_, clock_);
    EXPECT_EQ(learned.Get("a"), std::nullopt) << content;
    EXPECT_EQ(learned.Get("b"), (Hosts{{"good.example", 443, false}})) << content;
  }
}

TEST_F(LearnedHostsTest, WithoutAFileNothingIsKept) {
  LearnedHosts learned("", clock_);
  EXPECT_TRUE(learned.Put("a", kSome).ok());
  EXPECT_EQ(learned.Get("a"), std::nullopt);
}

}  // namespace
}  // namespace polybox::registries
