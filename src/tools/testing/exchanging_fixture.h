// A workspace in which another thread exchanges entries while a tool runs, for tests of attacks.
// Not part of the program.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>

#include "tools/testing/workspace_fixture.h"

namespace polybox::tools::testing {

/// A race of two threads is hit within some hundred rounds. Writing waits for the disk, so the time
/// is bounded too.
inline constexpr int kRounds = 1500;
inline constexpr std::chrono::seconds kLongestAttack{2};

/// Calls `attacked` with 0, 1, 2 and so on.
inline void Repeat(const std::function<void(int)>& attacked) {
  const auto end = std::chrono::steady_clock::now() + kLongestAttack;
  for (int i = 0; i < kRounds && std::chrono::steady_clock::now() < end; ++i) attacked(i);
}

class ExchangingFixture : public WorkspaceFixture {
 protected:
  /// "dir" is a directory of the workspace, "trap" a link to the directory outside.
  ExchangingFixture() {
    Put("dir/secret", "inside\n");
    std::filesystem::create_directory_symlink(base_ + "/outside", Root() + "/trap");
  }

  /// Exchanges the two entries again and again while `attacked` is called.
  void WhileExchanging(const std::string& left, const std::string& right,
                       const std::function<void(int)>& attacked) const {
    std::atomic<bool> done = false;
    std::thread attacker([&] {
      const std::string a = Root() + "/" + left;
      const std::string b = Root() + "/" + right;
      while (!done) ::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE);
    });
    Repeat(attacked);
    done = true;
    attacker.join();
  }

  void ExpectOutsideUntouched() const {
    EXPECT_EQ(ReadFile(base_ + "/outside/secret").value_or("(none)"), "the secret\n");
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(base_ + "/outside"), {}), 1);
  }
};

}  // namespace polybox::tools::testing
