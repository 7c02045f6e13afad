#include "sys/host_facts.h"

#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

namespace polybox::sys {
namespace {

std::string Content(const char* path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(HostFacts, ProbingLeavesTheProcessWhereItWas) {
  const std::string mounts = Content("/proc/self/mountinfo");
  const std::string cgroups = Content("/proc/self/cgroup");
  const HostFacts facts = ProbeHost();
  EXPECT_FALSE(facts.kernel.empty());
  EXPECT_EQ(Content("/proc/self/mountinfo"), mounts);
  EXPECT_EQ(Content("/proc/self/cgroup"), cgroups);
}

TEST(HostFacts, AFailedUserNamespaceLeavesTheRestUntried) {
  const HostFacts facts = ProbeHost();
  if (!facts.namespaces.user.ok()) {
    EXPECT_FALSE(facts.namespaces.pid.ok());
    EXPECT_FALSE(facts.namespaces.fresh_proc.ok());
  }
  if (facts.namespaces.fresh_proc.ok()) {
    EXPECT_TRUE(facts.namespaces.pid.ok());
    EXPECT_TRUE(facts.namespaces.mount.ok());
  }
}

}  // namespace
}  // namespace polybox::sys
