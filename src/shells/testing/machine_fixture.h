// A workspace with a machine in the best grade of this host, for tests that start commands. The
// workspace is not below /tmp, which a jail replaces. Not part of the program.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <unistd.h>

#include <gtest/gtest.h>

#include "jail/grade.h"
#include "launch/jail_home.h"
#include "machine/machines.h"
#include "sys/host_facts.h"
#include "workspace/workspace_set.h"

namespace polybox::shells::testing {

/// An ordinary user.
inline constexpr uid_t kOwner = 1000;

class MachineFixture : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto grade = jail::ChooseGrade(jail::CheckHost(sys::ProbeHost()), {});
    if (!grade.ok()) GTEST_SKIP() << grade.error().message();
    auto home = launch::JailHome::Make(*grade);
    ASSERT_TRUE(home.ok()) << home.error().message();
    home_.emplace(std::move(home).value());
    std::string pattern = "/var/tmp/polybox-test-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    base_ = pattern;
    for (const char* name : {"", "/main", "/other"}) {
      std::filesystem::create_directories(base_ + name);
      // The jail may have another user. Root's own directories are not for commands.
      std::filesystem::permissions(base_ + name, std::filesystem::perms(0777));
      if (::geteuid() != 0) continue;
      ASSERT_EQ(::chown((base_ + name).c_str(), kOwner, kOwner), 0);
    }
    auto set =
        workspace::WorkspaceSet::Open({{"main", base_ + "/main"}, {"other", base_ + "/other"}}, {});
    ASSERT_TRUE(set.ok()) << set.error().message();
    set_.emplace(std::move(set).value());
    machines_ = std::make_unique<machine::Machines>(
        [this] { return Result<const launch::JailHome*>(&*home_); });
  }
  void TearDown() override {
    machines_.reset();
    set_.reset();
    std::error_code ignored;
    if (!base_.empty()) std::filesystem::remove_all(base_, ignored);
  }

  machine::Machine& MachineOf(const std::string& workspace) {
    return machines_->Of(*set_->Find(workspace).value());
  }

  std::string base_;
  std::optional<launch::JailHome> home_;
  std::optional<workspace::WorkspaceSet> set_;
  std::unique_ptr<machine::Machines> machines_;
};

}  // namespace polybox::shells::testing
