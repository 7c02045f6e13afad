// Sees to it that a directory which outlives its commands does not outgrow its quota, where no
// kernel does: measures it before files are added, and again and again while commands run in it.
// What commands write meanwhile is found a moment late, so they can overshoot by what they write in
// that moment, and a file that is unlinked but still open is not found at all. Any thread.
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

struct SpaceLimits {
  Bytes bytes;
  /// Files, directories and links.
  std::int64_t files = 0;
};

struct SpaceUse {
  /// Of the disk, not of what files claim to hold.
  Bytes bytes;
  std::int64_t files = 0;
  /// Directories that are too deep or closed to us: what is in them is in none of the figures.
  std::int64_t uncounted = 0;
};

/// What is below `directory` (borrowed), as far as `most` entries; guests may be at work there.
Result<SpaceUse> MeasureSpace(int directory, std::int64_t most);

class SpaceWatch {
 public:
  /// `directory` is borrowed and must outlive it.
  SpaceWatch(int directory, SpaceLimits limits);
  /// When nobody watches any more.
  ~SpaceWatch();

  /// Room that was promised; given back when it goes, by then the file is there to be measured.
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

  /// Before files are added. An error with ENOSPC when there is no room for them.
  Result<Reservation> Reserve(const SpaceUse& more);

  /// Called with the reason, on a thread of ours and maybe again, when there is too much.
  using Over = std::function<void(const std::string& reason)>;

  /// Watches for as long as it lives. A command that finds the directory too full already may run
  /// (to remove things), but not add to it. No call is under way when its destructor returns.
  class Guard {
   public:
    ~Guard();
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;
    /// What was left when it began.
    Bytes room() const { return room_; }

   private:
    friend class SpaceWatch;
    struct Entry;
    Guard(SpaceWatch& watch, std::list<Entry>::iterator entry, Bytes room);
    SpaceWatch& watch_;
    std::list<Entry>::iterator entry_;
    Bytes room_;
  };

  Result<std::unique_ptr<Guard>> Watch(Over over);

  const SpaceLimits& limits() const { return limits_; }

 private:
  void Look(const std::stop_token& stop);
  /// With the mutex held: tells those who watch.
  void Judge(const SpaceUse& use, Bytes free);
  std::string Reason() const;

  const int directory_;
  const SpaceLimits limits_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  SpaceUse reserved_;
  std::list<Guard::Entry> guards_;
  std::jthread thread_;
};

}  // namespace polybox::exec
