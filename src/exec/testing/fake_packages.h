// A source of package sets without an installer, for tests of the engine.
#pragma once

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing/temp_dir.h"
#include "packages/package_source.h"

namespace polybox::exec::testing {

/// The first requirement decides the answer: "refused" and "fails" are errors, "endless" is an
/// installation that only a cancellation ends. For all others `directory` is the set.
class FakePackages : public packages::PackageSource {
 public:
  FakePackages() { std::filesystem::permissions(directory.path(), std::filesystem::perms(0755)); }

  Result<packages::PackageSet> Get(const launch::Installation& installation,
                                   const std::vector<std::string>& requirements,
                                   const packages::PackageTerms& terms) override {
    EXPECT_TRUE(installation.language.packages.has_value());
    ++asked;
    time = terms.time;
    if (requirements[0] == "refused") return Error(ErrorKind::kInvalid, "no such name");
    if (requirements[0] == "fails") return Error(ErrorKind::kSystem, "exit status 1: sorry");
    if (requirements[0] == "endless") {
      terms.on_install();
      std::mutex mutex;
      std::unique_lock lock(mutex);
      std::condition_variable_any().wait(lock, terms.cancel, [] { return false; });
      return Error(ErrorKind::kSystem, "signal: killed: ");
    }
    return packages::PackageSet{directory.path(), lease};
  }

  polybox::testing::TempDir directory;
  std::shared_ptr<int> lease = std::make_shared<int>();
  std::atomic<int> asked = 0;
  std::atomic<Duration> time{};
};

}  // namespace polybox::exec::testing
