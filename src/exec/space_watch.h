// Enforces the quota of a directory that outlives the commands which write to it, where the kernel
// cannot. It measures the directory before files are added, and repeatedly while commands run. A
// command can exceed the quota by what it writes between two measurements. A file that is unlinked
// but still open is not measured. Any thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/result.h"
#include "base/unique_fd.h"
#include "base/units.h"

namespace polybox::exec {

/// The quota of a directory.
struct SpaceLimits {
  Bytes bytes;
  /// The number of files, directories and links.
  std::int64_t files = 0;
};

/// The result of a measurement.
struct SpaceUse {
  /// Space on the disk (blocks), not the sizes that files claim to have.
  Bytes bytes;
  std::int64_t files = 0;
  /// Directories that are too deep or that polybox may not open. Their contents are in neither of
  /// the other figures.
  std::int64_t uncounted = 0;
};

/// Measures everything below `directory` (borrowed), up to `most` entries. Guests may change the
/// directory meanwhile.
Result<SpaceUse> MeasureSpace(int directory, std::int64_t most);

class SpaceWatch {
 public:
  /// `directory` is a borrowed descriptor that must outlive the watch.
  SpaceWatch(int directory, SpaceLimits limits);
  /// Every Guard and Reservation must be destroyed before.
  ~SpaceWatch();

  /// Space that Reserve() has promised to a caller. The destructor ends the promise; by then the
  /// caller has written its files, so that they are measured.
  class Reservation {
   public:
    Reservation(SpaceWatch& watch, SpaceUse use) : watch_(&watch), use_(use) {}
    Reservation(Reservation&& other) noexcept
        : watch_(std::exchange(other.watch_, nullptr)), use_(other.use_) {}
    Reservation& operator=(Reservation&&) = delete;
    ~Reservation();

   private:
    SpaceWatch* watch_;
    SpaceUse use_;
  };

  /// Reserves space before files are added. Returns an error with ENOSPC when there is not enough.
  Result<Reservation> Reserve(const SpaceUse& more);

  /// Called with the reason when the directory exceeds its quota. The watch's thread calls it with
  /// the watch's mutex held, maybe several times, so it must not call the watch.
  using Over = std::function<void(const std::string& reason)>;

  /// Watches the directory for one command, as long as the guard exists. A command that starts in a
  /// directory that is too full may run (to remove files), but may not add to it. When the
  /// destructor returns, `over` is not running and is not called again.
  class Guard {
   public:
    ~Guard();
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;
    /// The space that was left when the guard was made.
    Bytes room() const { return room_; }

   private:
    friend class SpaceWatch;
    struct Entry;
    Guard(SpaceWatch& watch, std::list<Entry>::iterator entry, Bytes room);
    SpaceWatch& watch_;
    std::list<Entry>::iterator entry_;
    Bytes room_;
  };

  /// Measures the directory and starts watching it. Blocks while it measures.
  Result<std::unique_ptr<Guard>> Watch(Over over);

  const SpaceLimits& limits() const { return limits_; }

 private:
  /// The thread: measures the directory while there are guards.
  void Look(const std::stop_token& stop);
  /// These with the mutex held. The first two end the commands that have too much.
  void JudgeFree(Bytes free);
  void Judge(const SpaceUse& use);
  /// What commands may still write after a measurement.
  Bytes RoomAfter(const SpaceUse& use) const;
  /// Returns the sentence that names the quota.
  std::string Reason() const;

  const int directory_;
  const SpaceLimits limits_;
  /// Guards `reserved_` and `guards_`.
  std::mutex mutex_;
  std::condition_variable_any changed_;
  SpaceUse reserved_;
  std::list<Guard::Entry> guards_;
  /// The last member: it is destroyed first, so that the thread ends before the data that it uses.
  std::jthread thread_;
};

}  // namespace polybox::exec
