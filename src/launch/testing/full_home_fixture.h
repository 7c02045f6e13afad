// The fixture of tests that run programs in real slots of grade full. Tests on hosts that lack what
// the grade needs are skipped with the reason. One thread.
#pragma once

#include <optional>
#include <sstream>
#include <unistd.h>
#include <utility>

#include <gtest/gtest.h>

#include "base/log.h"
#include "jail/testing/reuse_default.h"
#include "launch/jail_home.h"

namespace polybox::launch::testing {

class FullHomeFixture : public ::testing::Test {
 protected:
  /// A derived fixture calls this first, and returns if the test is skipped or has failed.
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "grade full needs root";
    auto home = JailHome::Make(jail::Grade::kFull);
    ASSERT_TRUE(home.ok()) << home.error().message();
    home_.emplace(std::move(home).value());
    home_->SetReuse(jail::ReuseByDefault());
  }

  /// What `log_` has written.
  std::ostringstream lines_;
  log::Logger log_ = log::Logger::ToStream(lines_, {});
  std::optional<JailHome> home_;
};

}  // namespace polybox::launch::testing
