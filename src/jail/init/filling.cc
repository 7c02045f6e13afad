// The files that most sessions begin and end with: a program, and a directory for what it makes. To
// take them away costs a tenth of a new file system, so where nothing else has happened to the old
// one, it stays.
//
// Nothing of one session may reach the next by it. Whatever a guest does to the directory or in it
// moves its time of change, which shows even the smallest step where this is used at all. What is
// left are inodes without a name (O_TMPFILE): they move the number that the next inode gets, so
// that one is looked at.
#include <algorithm>
#include <fcntl.h>
#include <unistd.h>

#include <sys/stat.h>

#include "jail/init/slot.h"

namespace polybox::jail::init {
namespace {

/// 0 when it cannot be told.
ino_t NumberOfNextInode(const std::string& path) {
  const int file = ::open(path.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  struct stat info{};
  if (file < 0) return 0;
  ::fstat(file, &info);
  ::close(file);
  return info.st_ino;
}

bool IsDirectlyInside(const FileHeader& file) {
  return file.name.find('/') == std::string::npos;
}

bool Remove(int directory, const FileHeader& file) {
  return ::unlinkat(directory, file.name.c_str(), S_ISDIR(file.mode) ? AT_REMOVEDIR : 0) == 0;
}

/// Those of the directory itself: when it was last read is nobody's business.
bool RenewTimes(const std::string& path) {
  return ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0) == 0;
}

bool IsSame(const timespec& one, const timespec& other) {
  return one.tv_sec == other.tv_sec && one.tv_nsec == other.tv_nsec;
}

}  // namespace

void RememberFilling(Scratch& scratch, const std::vector<FileHeader>& files) {
  scratch.filling = {};
  if (!EveryChangeShows() || !std::ranges::all_of(files, IsDirectlyInside)) return;
  scratch.filling = {files, ChangeTime(scratch.path()), NumberOfNextInode(scratch.path())};
}

bool TakeFillingAway(Scratch& scratch) {
  const Filling filling = std::move(scratch.filling);
  scratch.filling = {};
  const std::string path = scratch.path();
  if (filling.number == 0 || !IsSame(ChangeTime(path), filling.changed)) return false;
  if (NumberOfNextInode(path) != filling.number + 1) return false;
  const int directory = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return false;
  const bool removed = std::ranges::all_of(
      filling.files, [&](const FileHeader& file) { return Remove(directory, file); });
  ::close(directory);
  if (!removed || !RenewTimes(path)) return false;
  scratch.made = ChangeTime(path);
  return true;
}

}  // namespace polybox::jail::init
