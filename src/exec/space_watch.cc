#include "exec/space_watch.h"

#include <algorithm>
#include <dirent.h>
#include <fcntl.h>
#include <set>
#include <unistd.h>

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "sys/guest_tree.h"

namespace polybox::exec {
namespace {

using Clock = std::chrono::steady_clock;

/// Between two looks at the file system's own figures, which cost a microsecond.
constexpr auto kTick = std::chrono::milliseconds(25);
/// Between two measurements when those figures stand still: others may have made room meanwhile.
constexpr auto kAtLeast = std::chrono::seconds(1);
/// Measuring takes at most one part in so many of a processor's time.
constexpr int kShare = 8;
/// Directories within each other; each holds a descriptor while it is looked through.
constexpr int kDeepest = 128;
/// Whatever the quota: commands do not fill the last of a disk that others write to as well.
constexpr Bytes kFloor = Bytes::MiB(256);
/// What stat() counts blocks in.
constexpr std::uint64_t kBlock = 512;

/// Counts what is below a directory. Nothing is followed, and no other mount entered.
class Measurement {
 public:
  explicit Measurement(std::int64_t most) : most_(most) {}

  /// Takes the descriptor over.
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
    // A file with several names is there once.
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

struct Figures {
  Bytes free;
  std::uint64_t free_files = 0;

  bool operator==(const Figures&) const = default;
};

Figures Look(int directory) {
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
  /// How much there may be while it watches.
  SpaceUse most;
  /// On the file system, when it began.
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
  const SpaceUse most = {std::max(limits_.bytes, use.bytes), std::max(limits_.files, use.files),
                         use.uncounted};
  const auto entry =
      guards_.insert(guards_.end(), {std::move(over), most, exec::Look(directory_).free});
  changed_.notify_all();
  return std::unique_ptr<Guard>(new Guard(*this, entry, Less(limits_.bytes, use.bytes)));
}

void SpaceWatch::Look(const std::stop_token& stop) {
  Figures last;
  Clock::time_point earliest;
  Clock::time_point latest;
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [&] { return !guards_.empty(); })) {
    changed_.wait_for(lock, stop, kTick, [] { return false; });
    if (stop.stop_requested()) return;
    const Figures figures = exec::Look(directory_);
    const Clock::time_point now = Clock::now();
    if (now < earliest || (figures == last && now < latest)) continue;
    lock.unlock();
    const Result<SpaceUse> use = MeasureSpace(directory_, limits_.files);
    const Clock::time_point done = Clock::now();
    earliest = done + kShare * (done - now);
    latest = done + kAtLeast;
    last = figures;
    lock.lock();
    if (use.ok()) Judge(*use, figures.free);
  }
}

void SpaceWatch::Judge(const SpaceUse& use, Bytes free) {
  for (const Guard::Entry& guard : guards_) {
    if (use.bytes > guard.most.bytes || use.files > guard.most.files) {
      guard.over(Reason());
    } else if (use.uncounted > guard.most.uncounted) {
      guard.over("a directory cannot be measured: it is closed to us, or too deep");
    } else if (free < kFloor && guard.free >= kFloor) {
      guard.over("the file system is almost full");
    }
  }
}

std::string SpaceWatch::Reason() const {
  return fmt::format("the base directory may hold {} in {} files", FormatBytes(limits_.bytes),
                     limits_.files);
}

}  // namespace polybox::exec
