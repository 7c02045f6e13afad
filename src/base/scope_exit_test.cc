#include "base/scope_exit.h"

#include <gtest/gtest.h>

namespace polybox {
namespace {

TEST(ScopeExit, RunsOnceUnlessCancelled) {
  int runs = 0;
  {
    const ScopeExit exit([&] { ++runs; });
    EXPECT_EQ(runs, 0);
  }
  EXPECT_EQ(runs, 1);
  {
    ScopeExit exit([&] { ++runs; });
    exit.Cancel();
  }
  EXPECT_EQ(runs, 1);
}

}  // namespace
}  // namespace polybox
