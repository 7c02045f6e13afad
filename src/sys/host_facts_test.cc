#include "sys/host_facts.h"

#include <chrono>
#include <fstream>
#include <future>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

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

TEST(HostFacts, ProbingEndsWhileOtherThreadsHoldLocksOfTheCLibrary) {
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([](const std::stop_token& stop) {
      // Blocks of this size come from arenas, each of which has a lock.
      std::vector<std::unique_ptr<char[]>> blocks(64);
      for (std::size_t at = 0; !stop.stop_requested(); ++at) {
        blocks[at % blocks.size()] = std::make_unique<char[]>(2000 + 64 * (at % 97));
      }
    });
  }
  std::promise<void> done;
  const std::future<void> ended = done.get_future();
  std::thread prober([&done] {
    for (int i = 0; i < 10; ++i) ProbeHost();
    done.set_value();
  });
  // A child that waits for a lock would wait forever.
  ASSERT_EQ(ended.wait_for(std::chrono::minutes(2)), std::future_status::ready);
  prober.join();
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
