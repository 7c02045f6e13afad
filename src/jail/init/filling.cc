// The files that most sessions begin and end with: a program, and a directory for what it makes. To
// take them away costs a tenth of a new file system, so where nothing else has happened to the old
// one, it stays.
//
// Other names for what was put there need no inode of their own and may not show in any time. So
// what is still there when it has been taken away is looked for, and the place in the directory
// that the next name gets, which tells how many there were.
#include <algorithm>
#include <cstdint>
#include <fcntl.h>
#include <limits>
#include <unistd.h>

#include <sys/stat.h>
#include <sys/syscall.h>

#include "jail/init/slot.h"

namespace polybox::jail::init {
namespace {

bool IsDirectlyInside(const FileHeader& file) {
  return file.name.find('/') == std::string::npos;
}

bool Remove(int directory, const FileHeader& file) {
  return ::unlinkat(directory, file.name.c_str(), S_ISDIR(file.mode) ? AT_REMOVEDIR : 0) == 0;
}

/// The place in the directory of what was put there last, which the kernel lists first: it stands
/// with the entry before it, the parent's. 0 when it cannot be told.
std::int64_t LastPlace(int directory) {
  struct Entry {
    std::uint64_t inode;
    std::int64_t next;
    char rest[8];
  };
  Entry itself_and_parent[2];
  const bool is_read = ::lseek(directory, 0, SEEK_SET) == 0 &&
                       ::syscall(SYS_getdents64, directory, itself_and_parent,
                                 sizeof itself_and_parent) == sizeof itself_and_parent;
  return is_read ? itself_and_parent[1].next : 0;
}

/// Of a directory in which there is nothing, the last place is that behind all others.
bool IsEmpty(int directory) {
  return LastPlace(directory) == std::numeric_limits<std::int32_t>::max();
}

/// The place that the next name gets, by making one where there is none; 0 when it cannot be told.
std::int64_t NextPlace(int directory) {
  constexpr const char* kName = "probe";
  if (::mkdirat(directory, kName, 0700) != 0) return 0;
  const std::int64_t place = LastPlace(directory);
  return ::unlinkat(directory, kName, AT_REMOVEDIR) == 0 ? place : 0;
}

/// Those of the directory itself: when it was last read is nobody's business.
bool RenewTimes(int directory) {
  return ::futimens(directory, nullptr) == 0;
}

bool MakeAsGoodAsNew(int directory, const std::vector<FileHeader>& files, std::int64_t last_place) {
  const bool removed =
      std::ranges::all_of(files, [&](const FileHeader& file) { return Remove(directory, file); });
  return removed && IsEmpty(directory) && NextPlace(directory) == last_place + 1 &&
         RenewTimes(directory);
}

int Open(const Scratch& scratch) {
  return ::open(scratch.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

}  // namespace

bool IsUntouched(Scratch& scratch) {
  return scratch.files.empty() && IsAsItWas(scratch.path(), scratch.trace);
}

void RememberFilling(Scratch& scratch, const std::vector<FileHeader>& files) {
  scratch.files = files;
  scratch.trace = {};
  if (!EveryChangeShows() || !std::ranges::all_of(files, IsDirectlyInside)) return;
  const int directory = Open(scratch);
  if (directory < 0) return;
  scratch.last_place = LastPlace(directory);
  ::close(directory);
  scratch.trace = LookAt(scratch.path());
}

bool TakeFillingAway(Scratch& scratch) {
  const std::vector<FileHeader> files = std::move(scratch.files);
  scratch.files.clear();
  if (files.empty() || !IsAsItWas(scratch.path(), scratch.trace)) return false;
  const int directory = Open(scratch);
  if (directory < 0) return false;
  const bool is_as_new = MakeAsGoodAsNew(directory, files, scratch.last_place);
  ::close(directory);
  constexpr std::size_t kProbe = 1;
  if (is_as_new) scratch.trace = LookAfter(scratch.path(), scratch.trace, kProbe);
  return is_as_new;
}

}  // namespace polybox::jail::init
