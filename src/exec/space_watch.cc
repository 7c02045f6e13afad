#include "exec/space_watch.h"

#include <algorithm>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <set>
#include <unistd.h>

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "exec/measure_pace.h"
#include "sys/guest_tree.h"

namespace polybox::exec {
namespace {

using Clock = MeasurePace::Clock;

/// The time between two looks at the figures of the file system, each of which costs a microsecond.
constexpr auto kTick = std::chrono::milliseconds(25);
/// The largest depth of nested directories. A measurement holds a descriptor for each level.
constexpr int kDeepest = 128;
/// Independent of the quota, commands must not fill the last part of a disk to which other programs
/// write as well.
constexpr Bytes kFloor = Bytes::MiB(256);
/// The unit of st_blocks.
constexpr std::uint64_t kBlock = 512;

/// Measures what is below a directory. Follows no link and enters no other mount.
class Measurement {
 public:
  explicit Measurement(std::int64_t most) : most_(most) {}

  /// Takes ownership of the descriptor.
  void Directory(UniqueFd directory, int depth) {
    const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(directory.get()), ::closedir);
    if (!stream) return;
    const int fd = directory.release();  // the stream closes it
    for (const dirent* entry = ::readdir(stream.get()); entry != nullptr && use_.files <= most_;
         entry = ::readdir(stream.get())) {
      const std::string name = static_cast<const char*>(entry->d_name);
      if (name != "." && name != "..") Entry(fd, name, depth);
    }
  }

  SpaceUse use() const { return {Bytes(bytes_), use_.files, use_.uncounted}; }

 private:
  void Entry(int directory, const std::string& name, int depth) {
    struct stat info{};
    if (::fstatat(directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno != ENOENT) ++use_.uncounted;
      return;
    }
    // A file with several names is counted once.
    if (info.st_nlink > 1 && !S_ISDIR(info.st_mode) && !seen_.insert(info.st_ino).second) return;
    ++use_.files;
    bytes_ += static_cast<std::uint64_t>(info.st_blocks) * kBlock;
    if (!S_ISDIR(info.st_mode)) return;
    Result<UniqueFd> inner = sys::OpenBeneath(directory, name, O_RDONLY | O_DIRECTORY);
    if (depth >= kDeepest || (!inner.ok() && inner.error().system_errno() != ENOENT)) {
      ++use_.uncounted;
    } else if (inner.ok()) {
      Directory(std::move(inner).value(), depth + 1);
    }
  }

  const std::int64_t most_;
  SpaceUse use_;
  std::uint64_t bytes_ = 0;
  std::set<ino_t> seen_;
};

/// The processor time of this thread.
Clock::duration ThreadTime() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

SpaceFigures Look(int directory) {
  struct statvfs space{};
  if (::fstatvfs(directory, &space) != 0) return {};
  return {Bytes(space.f_bavail * space.f_frsize), space.f_favail};
}

Bytes Less(Bytes from, Bytes taken) {
  return Bytes(from.count() - std::min(from.count(), taken.count()));
}

}  // namespace

Result<SpaceUse> MeasureSpace(int directory, std::int64_t most) {
  UniqueFd top(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!top.valid()) return Error::FromErrno("measure the directory");
  Measurement measurement(most);
  measurement.Directory(std::move(top), 0);
  return measurement.use();
}

struct SpaceWatch::Guard::Entry {
  Over over;
  /// The most that the directory may contain while this guard exists.
  SpaceUse most;
  /// The free space of the file system when the guard was made.
  Bytes free;
};

SpaceWatch::SpaceWatch(int directory, SpaceLimits limits)
    : directory_(directory),
      limits_(limits),
      thread_([this](const std::stop_token& stop) { Look(stop); }) {}

SpaceWatch::~SpaceWatch() = default;

SpaceWatch::Reservation::~Reservation() {
  if (watch_ == nullptr) return;
  const std::lock_guard lock(watch_->mutex_);
  watch_->reserved_.bytes = Less(watch_->reserved_.bytes, use_.bytes);
  watch_->reserved_.files -= use_.files;
}

Result<SpaceWatch::Reservation> SpaceWatch::Reserve(const SpaceUse& more) {
  POLYBOX_ASSIGN_OR_RETURN(const SpaceUse use, MeasureSpace(directory_, limits_.files));
  const std::lock_guard lock(mutex_);
  const Bytes taken(use.bytes.count() + reserved_.bytes.count());
  if (more.bytes > Less(limits_.bytes, taken) ||
      use.files + reserved_.files + more.files > limits_.files) {
    return Error::FromErrno(Reason(), ENOSPC);
  }
  // The reservation counts until its owner has written the files and destroys it.
  reserved_.bytes = Bytes(reserved_.bytes.count() + more.bytes.count());
  reserved_.files += more.files;
  return Reservation(*this, more);
}

SpaceWatch::Guard::Guard(SpaceWatch& watch, std::list<Entry>::iterator entry, Bytes room)
    : watch_(watch), entry_(entry), room_(room) {}

SpaceWatch::Guard::~Guard() {
  const std::lock_guard lock(watch_.mutex_);
  watch_.guards_.erase(entry_);
}

Result<std::unique_ptr<SpaceWatch::Guard>> SpaceWatch::Watch(Over over) {
  POLYBOX_ASSIGN_OR_RETURN(const SpaceUse use, MeasureSpace(directory_, limits_.files));
  const std::lock_guard lock(mutex_);
  // A directory that is too full already must not grow further while this guard exists.
  const SpaceUse most = {std::max(limits_.bytes, use.bytes), std::max(limits_.files, use.files),
                         use.uncounted};
  const auto entry =
      guards_.insert(guards_.end(), {std::move(over), most, exec::Look(directory_).free});
  changed_.notify_all();
  return std::unique_ptr<Guard>(new Guard(*this, entry, Less(limits_.bytes, use.bytes)));
}

void SpaceWatch::Look(const std::stop_token& stop) {
  MeasurePace pace;
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [&] { return !guards_.empty(); })) {
    changed_.wait_for(lock, stop, kTick, [] { return false; });
    if (stop.stop_requested()) return;
    const SpaceFigures figures = exec::Look(directory_);
    JudgeFree(figures.free);
    if (!pace.IsDue(Clock::now(), figures)) continue;
    // Measuring can take long, so it happens without the mutex: Reserve() and new guards need not
    // wait.
    lock.unlock();
    const Clock::duration before = ThreadTime();
    const Result<SpaceUse> use = MeasureSpace(directory_, limits_.files);
    const Clock::duration cost = ThreadTime() - before;
    lock.lock();
    pace.Measured(Clock::now(), cost, figures, use.ok() ? RoomAfter(*use) : Bytes());
    // Guards may have come or gone meanwhile; Judge() sees those that exist now.
    if (use.ok()) Judge(*use);
  }
}

Bytes SpaceWatch::RoomAfter(const SpaceUse& use) const {
  Bytes room = Less(limits_.bytes, use.bytes);
  for (const Guard::Entry& guard : guards_) {
    room = std::max(room, Less(guard.most.bytes, use.bytes));
  }
  return room;
}

void SpaceWatch::JudgeFree(Bytes free) {
  for (const Guard::Entry& guard : guards_) {
    if (free < kFloor && guard.free >= kFloor) guard.over("the file system is almost full");
  }
}

void SpaceWatch::Judge(const SpaceUse& use) {
  for (const Guard::Entry& guard : guards_) {
    if (use.bytes > guard.most.bytes || use.files > guard.most.files) {
      guard.over(Reason());
    } else if (use.uncounted > guard.most.uncounted) {
      guard.over("a directory cannot be measured: it is closed to us, or too deep");
    }
  }
}

std::string SpaceWatch::Reason() const {
  return fmt::format("the base directory may hold {} in {} files", FormatBytes(limits_.bytes),
                     limits_.files);
}

}  // namespace polybox::exec
