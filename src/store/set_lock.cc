#include "store/set_lock.h"

#include <cerrno>
#include <fcntl.h>

#include <sys/file.h>
#include <sys/stat.h>

#include "base/files.h"

namespace polybox::store {
namespace {

/// Returns whether the locked file still has this name. A process that removes a layer removes its
/// lock file too, so another file may have the name by now.
bool IsCurrent(int file, const std::string& path) {
  struct stat held{};
  struct stat named{};
  return ::fstat(file, &held) == 0 && ::stat(path.c_str(), &named) == 0 &&
         held.st_ino == named.st_ino && held.st_dev == named.st_dev;
}

}  // namespace

Result<SetLock> SetLock::Try(const std::string& path, Mode mode) {
  constexpr int kAttempts = 16;
  for (int i = 0; i < kAttempts; ++i) {
    POLYBOX_ASSIGN_OR_RETURN(UniqueFd file, OpenFile(path, O_RDWR | O_CREAT, 0600));
    const int operation = (mode == Mode::kAlone ? LOCK_EX : LOCK_SH) | LOCK_NB;
    if (::flock(file.get(), operation) != 0) {
      if (errno == EWOULDBLOCK || errno == EINTR) return SetLock();
      return Error::FromErrno("lock " + path);
    }
    if (IsCurrent(file.get(), path)) return SetLock(std::move(file));
  }
  return SetLock();
}

void SetLock::Share() {
  if (::flock(file_.get(), LOCK_SH | LOCK_NB) != 0) file_.reset();
}

}  // namespace polybox::store
