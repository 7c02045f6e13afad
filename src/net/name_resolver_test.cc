#include "net/name_resolver.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include <gtest/gtest.h>
#include <sys/eventfd.h>

#include "base/unique_fd.h"

namespace polybox::net {
namespace {

/// Names whose lookups wait until the test opens the gate. Shared with the lookup threads.
struct SlowNames {
  std::vector<Address> Look(const HostPort& target) {
    std::unique_lock lock(mutex);
    if (target.host.starts_with("slow")) {
      ++held;
      changed.notify_all();
      changed.wait(lock, [&] { return open; });
      --held;
    }
    return Resolve({"203.0.113.10", target.port, true});
  }
  void AwaitHeld(int count) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return held == count; });
  }
  void Open() {
    const std::lock_guard lock(mutex);
    open = true;
    changed.notify_all();
  }

  std::mutex mutex;
  std::condition_variable changed;
  int held = 0;
  bool open = false;
};

class Resolving : public ::testing::Test {
 protected:
  ~Resolving() override { names_->Open(); }

  NameResolver::Lookup Lookup() {
    return [names = names_](const HostPort& target) { return names->Look(target); };
  }
  Patience Long() const {
    return {std::chrono::steady_clock::now() + std::chrono::minutes(1), stop_.get()};
  }

  std::shared_ptr<SlowNames> names_ = std::make_shared<SlowNames>();
  UniqueFd stop_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  const NameResolver::Asker one_ = NameResolver::NewAsker();
  const NameResolver::Asker other_ = NameResolver::NewAsker();
};

TEST_F(Resolving, ANameIsLookedUpAndAnAddressIsItself) {
  NameResolver resolver(Lookup());
  const auto found = resolver.Find({"quick.example", 443, false}, one_, Long());
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(ToText(found[0]), "203.0.113.10");
  const auto literal = resolver.Find({"192.0.2.1", 443, true}, one_, Long());
  ASSERT_EQ(literal.size(), 1U);
  EXPECT_EQ(ToText(literal[0]), "192.0.2.1");
}

TEST_F(Resolving, NeitherAStoppedCallerNorTheDestructorWaitsForALookup) {
  {
    NameResolver resolver(Lookup());
    std::thread asker(
        [&] { EXPECT_TRUE(resolver.Find({"slow.example", 443, false}, one_, Long()).empty()); });
    names_->AwaitHeld(1);
    ::eventfd_write(stop_.get(), 1);
    asker.join();
  }
  names_->AwaitHeld(1);  // the lookup still runs and blocks nothing
}

TEST_F(Resolving, SlowNamesOfOneAskerHoldUpNoOther) {
  NameResolver resolver(Lookup(), {.lookups = 8, .per_asker = 2});
  std::vector<std::thread> askers;
  askers.reserve(6);
  for (int i = 0; i < 6; ++i) {
    askers.emplace_back(
        [&] { EXPECT_EQ(resolver.Find({"slow.example", 443, false}, one_, Long()).size(), 1U); });
  }
  names_->AwaitHeld(2);
  EXPECT_EQ(resolver.Find({"quick.example", 443, false}, other_, Long()).size(), 1U);
  {
    const std::lock_guard lock(names_->mutex);
    EXPECT_EQ(names_->held, 2);
  }
  names_->Open();
  for (std::thread& asker : askers) asker.join();
}

}  // namespace
}  // namespace polybox::net
