// A slot on this host: tests with it need what grade full needs, and skip with the reason
// elsewhere.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "jail/grade.h"
#include "jail/plan.h"
#include "jail/seccomp_policy.h"
#include "jail/slot.h"
#include "jail/testing/reuse_default.h"
#include "jail/testing/run_in.h"
#include "sys/cgroup_tree.h"
#include "sys/host_facts.h"

namespace polybox::jail {

/// What this host lacks for grade full, or nothing.
inline std::string MissingForFull() {
  for (const HostCheck& check : CheckHost(sys::ProbeHost())) {
    if (!check.ok && check.without) return check.name + ": " + check.found;
  }
  return "";
}

/// One slot of grade full.
class FullSlot : public ::testing::Test {
 protected:
  void SetUp() override {
    static const std::string missing = MissingForFull();
    if (!missing.empty()) GTEST_SKIP() << "no grade full here: " << missing;
    auto home = sys::CgroupHome::Make(sys::ReadCgroups());
    ASSERT_TRUE(home.ok()) << home.error().message();
    home_.emplace(std::move(home).value());
    auto slot = Slot::Make(Options());
    ASSERT_TRUE(slot.ok()) << slot.error().message();
    slot_.emplace(std::move(slot).value());
  }

  SlotOptions Options() const {
    return {.spec = HostSpec(),
            .filter = BuiltinGuestFilter().value(),
            .cgroups = &*home_,
            .number = 0,
            .reuse = ReuseByDefault(),
            .fail_at = -1};
  }

  Ran RunArgv(const std::vector<std::string>& argv, const RunLimits& limits = {}) {
    return RunIn(*slot_, argv, limits);
  }
  Ran Shell(const std::string& script, const RunLimits& limits = {}) {
    return RunArgv({"/bin/sh", "-c", script}, limits);
  }

  std::optional<sys::CgroupHome> home_;
  std::optional<Slot> slot_;
};

}  // namespace polybox::jail
