// Whether anything has happened in a scratch directory. What a guest does to the directory itself
// moves the time of its last change, which nobody can set. A link to something moves it only to the
// time of that thing, which may be the same, and an inode without a name (O_TMPFILE) not at all:
// but both need an inode of this file system, and each gets the next number.
#include <ctime>
#include <fcntl.h>
#include <unistd.h>

#include <sys/stat.h>

#include "jail/init/slot.h"

namespace polybox::jail::init {
namespace {

timespec ChangeTime(const std::string& path) {
  struct stat info{};
  ::stat(path.c_str(), &info);
  return info.st_ctim;
}

/// The number that the next inode gets, by making one; 0 when it cannot be told.
ino_t NextNumber(const std::string& path) {
  const int file = ::open(path.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file < 0) return 0;
  struct stat info{};
  ::fstat(file, &info);
  ::close(file);
  return info.st_ino;
}

std::int64_t Nanoseconds(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

/// Whether three changes in a row have three times, nearer to each other than ticks can be. Also
/// untrue when somebody else had the processor in between.
bool ThreeChangesShow(const std::string& path, mode_t mode) {
  constexpr std::int64_t kShortestTick = 1'000'000;
  std::int64_t times[3];
  for (std::int64_t& time : times) {
    if (::chmod(path.c_str(), mode) != 0) return false;
    time = Nanoseconds(ChangeTime(path));
  }
  return times[0] < times[1] && times[1] < times[2] && times[2] - times[0] < kShortestTick;
}

bool every_change_shows = false;

}  // namespace

/// Before Linux 6.13 the time of a change is that of the clock's last tick, so two changes within a
/// few milliseconds have the same.
void LearnWhetherEveryChangeShows(const std::string& path) {
  constexpr int kTries = 20;  // on a busy machine many fail
  every_change_shows = false;
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return;
  for (int i = 0; i < kTries && !every_change_shows; ++i) {
    every_change_shows = ThreeChangesShow(path, info.st_mode & 07777U);
  }
}

bool EveryChangeShows() {
  return every_change_shows;
}

Trace LookAt(const std::string& path) {
  return {ChangeTime(path), NextNumber(path)};
}

Trace LookAfter(const std::string& path, const Trace& before, std::size_t made) {
  return {ChangeTime(path), before.number == 0 ? 0 : before.number + made};
}

void Distrust(Trace& trace) {
  if (every_change_shows) return;
  timespec tick{};
  ::clock_gettime(CLOCK_REALTIME_COARSE, &tick);
  if (Nanoseconds(trace.changed) >= Nanoseconds(tick)) trace = {};
}

bool IsAsItWas(const std::string& path, Trace& trace) {
  const Trace now = LookAt(path);
  const bool is_same = trace.number != 0 && now.number == trace.number + 1 &&
                       Nanoseconds(now.changed) == Nanoseconds(trace.changed);
  trace = is_same ? now : Trace();
  return is_same;
}

}  // namespace polybox::jail::init
