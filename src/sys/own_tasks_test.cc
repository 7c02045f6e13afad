#include "sys/own_tasks.h"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

namespace polybox::sys {
namespace {

TEST(OwnTasks, CountsThisProcessAndItsThreads) {
  std::atomic<bool> done = false;
  {
    const auto wait = [&] { done.wait(false); };
    const std::jthread one(wait);
    const std::jthread two(wait);
    EXPECT_GE(CountOwnTasks(), 3);
    done = true;
    done.notify_all();
  }
}

}  // namespace
}  // namespace polybox::sys
