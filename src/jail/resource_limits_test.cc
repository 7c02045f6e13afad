#include "jail/resource_limits.h"

#include <algorithm>
#include <limits>

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace polybox::jail {
namespace {

std::uint64_t Of(const std::vector<init::ResourceLimit>& all, int resource) {
  const auto found = std::ranges::find_if(
      all, [&](const init::ResourceLimit& limit) { return limit.resource == resource; });
  return found == all.end() ? 0 : found->value;
}

TEST(ResourceLimits, WithoutACgroupEachProcessHasTheMemoryLimit) {
  RunLimits limits;
  limits.memory = Bytes::MiB(64);
  EXPECT_EQ(Of(ResourceLimits(limits, false), RLIMIT_DATA), Bytes::MiB(64).count());
  EXPECT_EQ(Of(ResourceLimits(limits, true), RLIMIT_DATA), 0U);
}

TEST(ResourceLimits, WhatMayBeMappedGrowsWithTheMemory) {
  RunLimits limits;
  limits.memory = Bytes::MiB(256);
  limits.address_space = Bytes::MiB(1024);
  SetMemory(limits, Bytes::MiB(4096));
  EXPECT_EQ(limits.memory, Bytes::MiB(4096));
  EXPECT_EQ(limits.address_space, Bytes::MiB(1024 + 4096 - 256));
  SetMemory(limits, Bytes::MiB(64));
  EXPECT_EQ(limits.address_space, Bytes::MiB(1024 + 4096 - 256));
  limits.address_space = Bytes(std::numeric_limits<std::uint64_t>::max());
  SetMemory(limits, Bytes::MiB(128));
  EXPECT_EQ(limits.address_space, Bytes(std::numeric_limits<std::uint64_t>::max()));
}

TEST(ResourceLimits, WhatAProgramIsCalledWithMustFitIntoItsMemory) {
  RunRequest request;
  request.argv = {"/bin/true"};
  const Bytes least = LeastMemory(request);
  request.env = {std::string(100'000, 'x')};
  EXPECT_GE(LeastMemory(request).count(), least.count() + 200'000);
}

}  // namespace
}  // namespace polybox::jail
