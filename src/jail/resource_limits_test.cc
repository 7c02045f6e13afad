#include "jail/resource_limits.h"

#include <algorithm>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "limits/testing/with_number.h"
#include "sys/own_tasks.h"

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
  EXPECT_EQ(Of(ResourceLimits(limits, TaskCounter::kUid), RLIMIT_DATA), Bytes::MiB(64).count());
  EXPECT_EQ(Of(ResourceLimits(limits, TaskCounter::kCgroup), RLIMIT_DATA), 0U);
}

TEST(ResourceLimits, ProcessesAreLimitedByAUidOnlyWhereAllOfItsProcessesAreSeen) {
  RunLimits limits;
  limits.processes = 32;
  EXPECT_EQ(Of(ResourceLimits(limits, TaskCounter::kUid), RLIMIT_NPROC), 32U);
  EXPECT_EQ(Of(ResourceLimits(limits, TaskCounter::kCgroup), RLIMIT_NPROC), 0U);
  const std::uint64_t shared = Of(ResourceLimits(limits, TaskCounter::kSharedUid), RLIMIT_NPROC);
  if (sys::SeesAllTasks()) {
    EXPECT_GE(shared, std::min<std::uint64_t>(4 * 32, OwnHardLimits().at(RLIMIT_NPROC)))
        << "runs of the same uid may start theirs meanwhile";
  } else {
    EXPECT_EQ(shared, 0U);
  }
}

TEST(ResourceLimits, QueuedSignalsAreBoundedForTheHostSharesThem) {
  const RunLimits limits;
  EXPECT_EQ(Of(ResourceLimits(limits, TaskCounter::kCgroup), RLIMIT_SIGPENDING), 1024U);
  EXPECT_EQ(Of(ResourceLimits(limits, TaskCounter::kUid), RLIMIT_SIGPENDING), 1024U);
}

/// Returns what enforces a limit, as far as the jail does: what changes with it.
limits::EnforcedBy Enforcing(const limits::Limit& limit) {
  const limits::StepLimits before;
  const limits::StepLimits after = limits::testing::WithNumber(limit, 7'000'000);
  const auto rlimits = [](const RunLimits& limits) {
    return ResourceLimits(limits, TaskCounter::kUid);
  };
  return {.watch = WatchLimitsOf(before) != WatchLimitsOf(after),
          .cgroup = GroupLimits(before) != GroupLimits(after),
          .tree_watch = GroupTreeLimits(before) != GroupTreeLimits(after),
          .rlimit = rlimits(before) != rlimits(after),
          .scratch = ScratchSize(before) != ScratchSize(after),
          .reader = limit.by.reader};
}

TEST(ResourceLimits, EachLimitIsEnforcedByWhatItsRowNames) {
  for (const limits::Limit& limit : limits::kLimits) {
    EXPECT_EQ(Enforcing(limit), limit.by) << limit.key;
  }
}

TEST(ResourceLimits, ALimitThatIsEqualToAResourceLimitHasItsValueAndName) {
  for (const limits::Limit& limit : limits::kLimits) {
    if (limit.rlimit == limits::kNoRlimit) continue;
    std::vector<init::ResourceLimit> all =
        ResourceLimits(limits::testing::WithNumber(limit, 4096), TaskCounter::kCgroup);
    EXPECT_EQ(Of(all, limit.rlimit), 4096U) << limit.key;
    std::vector<std::uint64_t> hard(RLIMIT_NLIMITS, RLIM_INFINITY);
    hard[static_cast<std::size_t>(limit.rlimit)] = 4095;
    std::string name(limit.key);
    std::ranges::replace(name, '_', ' ');
    EXPECT_EQ(LowerTo(hard, all),
              std::vector<std::string>{name + ": 4095 instead of 4096, because the hard limit of "
                                              "polybox (ulimit -H) is that low"});
  }
}

TEST(ResourceLimits, ArgumentsAndVariablesMustFitIntoTheProgramsMemory) {
  RunRequest request;
  request.argv = {"/bin/true"};
  const Bytes least = LeastMemory(request);
  request.env = {std::string(100'000, 'x')};
  EXPECT_GE(LeastMemory(request).count(), least.count() + 200'000);
}

TEST(ResourceLimits, AHardLimitBelowOursLowersItAndSaysSo) {
  std::vector<std::uint64_t> hard(RLIMIT_NLIMITS, RLIM_INFINITY);
  hard[RLIMIT_NOFILE] = 32;
  std::vector<init::ResourceLimit> limits = {{RLIMIT_NOFILE, 64}, {RLIMIT_STACK, 8192}};
  const std::vector<std::string> lowered = LowerTo(hard, limits);
  EXPECT_EQ(lowered,
            std::vector<std::string>{"open files: 32 instead of 64, because the hard limit "
                                     "of polybox (ulimit -H) is that low"});
  const std::vector<init::ResourceLimit> expected = {{RLIMIT_NOFILE, 32}, {RLIMIT_STACK, 8192}};
  EXPECT_EQ(limits, expected);
}

}  // namespace
}  // namespace polybox::jail
