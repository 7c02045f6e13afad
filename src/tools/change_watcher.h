// Tells subscribers that a file or the output of a command has changed. Changes that follow each
// other closely are told as one: a command that prints thousands of lines a second costs two
// notifications a second. Starts its thread with the first watch. Any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "base/result.h"
#include "base/unique_fd.h"
#include "base/units.h"
#include "machine/change_feed.h"
#include "shells/shell.h"
#include "tools/resource.h"

namespace polybox::tools {

class ChangeWatcher : public std::enable_shared_from_this<ChangeWatcher> {
 public:
  /// The owner must not release the watcher on the thread that calls subscribers. `pause` is the
  /// shortest time between two calls of one subscriber.
  static std::shared_ptr<ChangeWatcher> Make(Duration pause = std::chrono::milliseconds(500));
  ChangeWatcher(const ChangeWatcher&) = delete;
  ChangeWatcher& operator=(const ChangeWatcher&) = delete;
  ~ChangeWatcher();

  /// A watch of a command. Does not keep the command alive.
  Result<std::unique_ptr<Watch>> WatchShell(const std::shared_ptr<shells::Shell>& shell,
                                            std::function<void()> changed);
  /// A watch of the entry `name` of the directory that is open at `directory` (borrowed), whether
  /// or not there is such an entry.
  Result<std::unique_ptr<Watch>> WatchEntry(int directory, const std::string& name,
                                            std::function<void()> changed);

 private:
  class Handle;
  using Clock = std::chrono::steady_clock;
  /// The device and the inode of a directory.
  using DirectoryId = std::pair<dev_t, ino_t>;

  /// What a source of changes needs, which may outlive the watcher.
  struct Signal {
    explicit Signal(std::shared_ptr<UniqueFd> fd) : wake(std::move(fd)) {}
    /// Wakes the thread, unless it knows of a change already: so many changes become one.
    void Raise();

    const std::shared_ptr<UniqueFd> wake;
    std::atomic<bool> is_dirty = false;
  };
  struct Subscriber {
    std::function<void()> changed;
    std::shared_ptr<Signal> signal = {};
    Clock::time_point told = {};
    /// For entries of directories.
    std::optional<DirectoryId> directory = {};
    std::string name = {};
  };
  struct Directory {
    /// Its number in the feed.
    std::size_t tree = 0;
    std::size_t subscribers = 0;
  };

  explicit ChangeWatcher(Duration pause) : pause_(pause) {}

  /// Starts the thread. Needs the lock.
  Status Start();
  /// Needs the lock.
  std::unique_ptr<Handle> Add(Subscriber subscriber);
  void Remove(std::uint64_t number);
  void Run(const std::stop_token& stop);
  /// Needs the lock.
  void TakeChanges();
  /// Calls the dirty subscribers whose pause is over. Returns when the next pause is over.
  std::optional<Clock::time_point> TellDue();

  const Duration pause_;
  /// Held while a subscriber is called, so that Remove() can wait for the end of the call. Taken
  /// before `mutex_`.
  std::mutex telling_;
  std::mutex mutex_;
  // All below are guarded by `mutex_`.
  std::optional<machine::ChangeFeed> feed_;
  std::shared_ptr<UniqueFd> wake_;
  std::map<std::uint64_t, Subscriber> subscribers_;
  std::uint64_t last_number_ = 0;
  std::map<DirectoryId, Directory> directories_;
  std::size_t last_tree_ = 0;
  /// Last: it uses the members above.
  std::jthread thread_;
};

}  // namespace polybox::tools
