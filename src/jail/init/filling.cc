// The files that most sessions begin and end with: a program, and a directory for its results. To
// remove them costs a tenth of mounting a new file system. So the old file system stays if nothing
// else has happened to it.
//
// A hard link to one of these files needs no inode of its own and may not show in any time. So
// after the removal two things are checked: that the directory is empty, and the position in the
// directory that the next name gets. That position tells how many names there were.
#include "jail/init/filling.h"

#include <algorithm>
#include <cstdint>
#include <fcntl.h>
#include <limits>
#include <unistd.h>

#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/unique_fd.h"
#include "jail/init/scratch.h"
#include "jail/init/trace.h"

namespace polybox::jail::init {
namespace {

bool IsDirectlyInside(const FileHeader& file) {
  return file.name.find('/') == std::string::npos;
}

bool Remove(int directory, const FileHeader& file) {
  return ::unlinkat(directory, file.name.c_str(), S_ISDIR(file.mode) ? AT_REMOVEDIR : 0) == 0;
}

/// Returns the position in the directory of the last new entry, which the kernel lists first. The
/// position is recorded with the preceding entry, which is that of the parent. Returns 0 when it is
/// unknown.
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

/// In an empty directory the last position is the one behind all others.
bool IsEmpty(int directory) {
  return LastPlace(directory) == std::numeric_limits<std::int32_t>::max();
}

/// Returns the position in the directory that the next entry gets; 0 when it is unknown. Makes an
/// entry in the empty directory to find out, and removes it.
std::int64_t NextPlace(int directory) {
  constexpr const char* kName = "probe";
  if (::mkdirat(directory, kName, 0700) != 0) return 0;
  const std::int64_t place = LastPlace(directory);
  return ::unlinkat(directory, kName, AT_REMOVEDIR) == 0 ? place : 0;
}

/// Renews the times of the directory itself: the next guest must not see when it was last read.
bool RenewTimes(int directory) {
  return ::futimens(directory, nullptr) == 0;
}

bool MakeAsGoodAsNew(int directory, const std::vector<FileHeader>& files, std::int64_t last_place) {
  const bool removed =
      std::ranges::all_of(files, [&](const FileHeader& file) { return Remove(directory, file); });
  return removed && IsEmpty(directory) && NextPlace(directory) == last_place + 1 &&
         RenewTimes(directory);
}

UniqueFd Open(const Scratch& scratch) {
  return UniqueFd(::open(scratch.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

}  // namespace

bool IsUntouched(Scratch& scratch) {
  return scratch.files.empty() && IsAsItWas(scratch.path(), scratch.trace);
}

void RememberFilling(Scratch& scratch, const std::vector<FileHeader>& files) {
  scratch.files = files;
  scratch.trace = {};
  if (!EveryChangeShows() || !std::ranges::all_of(files, IsDirectlyInside)) return;
  UniqueFd directory = Open(scratch);
  if (!directory.valid()) return;
  scratch.last_place = LastPlace(directory.get());
  directory.reset();
  scratch.trace = LookAt(scratch.path());
}

bool TakeFillingAway(Scratch& scratch) {
  const std::vector<FileHeader> files = std::move(scratch.files);
  scratch.files.clear();
  if (files.empty() || !IsAsItWas(scratch.path(), scratch.trace)) return false;
  UniqueFd directory = Open(scratch);
  if (!directory.valid()) return false;
  const bool is_as_new = MakeAsGoodAsNew(directory.get(), files, scratch.last_place);
  directory.reset();
  constexpr std::size_t kProbe = 1;
  if (is_as_new) scratch.trace = LookAfter(scratch.path(), scratch.trace, kProbe);
  return is_as_new;
}

}  // namespace polybox::jail::init
