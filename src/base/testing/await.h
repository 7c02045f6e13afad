// Waits in a test for something that another thread or process does.
#pragma once

#include <chrono>
#include <thread>

namespace polybox::testing {

/// Returns true as soon as `holds` returns true. Returns false if that takes longer than `time`,
/// which is far more than any machine needs: a test that waits in vain has failed.
template <typename Condition>
bool Await(Condition holds, std::chrono::milliseconds time = std::chrono::seconds(30)) {
  constexpr auto kLookAgain = std::chrono::milliseconds(2);
  const auto deadline = std::chrono::steady_clock::now() + time;
  while (!holds()) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(kLookAgain);
  }
  return true;
}

}  // namespace polybox::testing
