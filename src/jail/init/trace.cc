// Finds out whether anything has happened in a scratch directory. A change of the directory itself
// moves its change time, which no process can set. Two events may not show there. A hard link moves
// that time only to the time of the linked file, which may be the same. An inode without a name
// (O_TMPFILE) does not move it at all. But both need an inode of this file system, and each inode
// gets the next number.
#include "jail/init/trace.h"

#include <ctime>
#include <fcntl.h>
#include <unistd.h>

#include <sys/stat.h>

#include "base/unique_fd.h"

namespace polybox::jail::init {
namespace {

timespec ChangeTime(const std::string& path) {
  struct stat info{};
  ::stat(path.c_str(), &info);
  return info.st_ctim;
}

/// Returns the number of the next inode, by making one; 0 when it is unknown.
ino_t NextNumber(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (!file.valid()) return 0;
  struct stat info{};
  ::fstat(file.get(), &info);
  return info.st_ino;
}

std::int64_t Nanoseconds(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

/// Returns whether three changes in a row have three different times, closer to each other than
/// clock ticks can be. Also false when another process had the processor in between.
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

/// Before Linux 6.13 the time of a change is that of the clock's last tick. Two changes within a
/// few milliseconds then have the same time.
void LearnWhetherEveryChangeShows(const std::string& path) {
  constexpr int kTries = 20;  // on a busy machine many tries fail
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
