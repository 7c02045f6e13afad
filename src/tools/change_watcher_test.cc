#include "tools/change_watcher.h"

#include <atomic>
#include <fcntl.h>
#include <mutex>
#include <utility>

#include <gtest/gtest.h>

#include "base/testing/await.h"
#include "base/testing/temp_dir.h"

namespace polybox::tools {
namespace {

using polybox::testing::Await;

class ChangeWatcherTest : public ::testing::Test {
 protected:
  void Write(const std::string& name) { directory_.Write(name, "x"); }
  std::unique_ptr<Watch> Follow(const std::string& name, std::atomic<int>& count) {
    const UniqueFd fd(::open(directory_.path().c_str(), O_PATH | O_CLOEXEC));
    return watcher_->WatchEntry(fd.get(), name, [&count] { ++count; }).value();
  }

  polybox::testing::TempDir directory_;
  std::shared_ptr<ChangeWatcher> watcher_ = ChangeWatcher::Make(std::chrono::milliseconds(20));
};

TEST_F(ChangeWatcherTest, ASubscriberIsToldOfItsEntryAndNoOther) {
  std::atomic<int> a = 0;
  std::atomic<int> b = 0;
  const auto first = Follow("a", a);
  const auto second = Follow("b", b);
  Write("b");
  EXPECT_TRUE(Await([&] { return b > 0; }));
  EXPECT_EQ(a, 0);
  Write("a");
  EXPECT_TRUE(Await([&] { return a > 0; }));
}

TEST_F(ChangeWatcherTest, TheLastOfManyChangesIsToldToo) {
  std::atomic<int> count = 0;
  const auto watch = Follow("a", count);
  for (int i = 0; i < 100; ++i) Write("a");
  EXPECT_TRUE(Await([&] { return count > 0; }));
  const int before = count;
  Write("a");
  EXPECT_TRUE(Await([&] { return count > before; }));
  EXPECT_LT(count, 200);
}

TEST_F(ChangeWatcherTest, NobodyIsToldAfterTheEndOfAWatch) {
  std::atomic<int> ended = 0;
  std::atomic<int> stays = 0;
  auto watch = Follow("a", ended);
  const auto other = Follow("a", stays);
  watch.reset();
  Write("a");
  EXPECT_TRUE(Await([&] { return stays > 0; }));
  EXPECT_EQ(ended, 0);
}

TEST_F(ChangeWatcherTest, ASubscriberMayEndItsOwnWatch) {
  std::mutex mutex;
  std::unique_ptr<Watch> own;
  std::atomic<bool> done = false;
  const UniqueFd fd(::open(directory_.path().c_str(), O_PATH | O_CLOEXEC));
  std::unique_ptr<Watch> watch = watcher_
                                     ->WatchEntry(fd.get(), "a",
                                                  [&] {
                                                    const std::lock_guard lock(mutex);
                                                    own.reset();
                                                    done = true;
                                                  })
                                     .value();
  {
    const std::lock_guard lock(mutex);
    own = std::move(watch);
  }
  Write("a");
  EXPECT_TRUE(Await([&] { return done.load(); }));
}

TEST_F(ChangeWatcherTest, AWatchMayOutliveItsWatcher) {
  std::atomic<int> count = 0;
  auto watch = Follow("a", count);
  watcher_.reset();
  Write("a");
  watch.reset();
}

}  // namespace
}  // namespace polybox::tools
