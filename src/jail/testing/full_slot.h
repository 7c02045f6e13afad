// A slot on this host: tests with it need what grade full needs, and skip with the reason
// elsewhere.
#pragma once

#include <fcntl.h>
#include <optional>
#include <string>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "base/files.h"
#include "jail/grade.h"
#include "jail/plan.h"
#include "jail/seccomp_policy.h"
#include "jail/slot.h"
#include "sys/cgroup_tree.h"
#include "sys/host_facts.h"

namespace polybox::jail {

struct Ran {
  Outcome outcome;
  std::string out;
  std::string err;
};

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
            .fail_at = -1};
  }

  Ran RunArgv(const std::vector<std::string>& argv, const RunLimits& limits = {}) {
    const UniqueFd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
    const UniqueFd out(::memfd_create("out", MFD_CLOEXEC));
    const UniqueFd err(::memfd_create("err", MFD_CLOEXEC));
    auto outcome = slot_->Run({.argv = argv,
                               .env = {"PATH=/usr/bin:/bin", "HOME=/sandbox"},
                               .directory = kWorkDirectory,
                               .limits = limits,
                               .one_cpu = false,
                               .stdin_fd = null.get(),
                               .stdout_fd = out.get(),
                               .stderr_fd = err.get()});
    EXPECT_TRUE(outcome.ok()) << outcome.error().message();
    if (!outcome.ok()) return {};
    ::lseek(out.get(), 0, SEEK_SET);
    ::lseek(err.get(), 0, SEEK_SET);
    return {std::move(outcome).value(), ReadAll(out.get(), Bytes::MiB(8)).value_or("?"),
            ReadAll(err.get(), Bytes::MiB(8)).value_or("?")};
  }
  Ran Shell(const std::string& script, const RunLimits& limits = {}) {
    return RunArgv({"/bin/sh", "-c", script}, limits);
  }

  std::optional<sys::CgroupHome> home_;
  std::optional<Slot> slot_;
};

}  // namespace polybox::jail
