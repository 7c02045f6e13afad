// An openat2() that cannot leave a directory. It also works where a system call filter refuses
// openat2; the filter of a polybox jail answers ENOSYS. Async-signal-safe. Needs only the C
// library, because the slot init includes this header too.
#pragma once

#include <cerrno>
#include <climits>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

namespace polybox::sys {

/// Closes `directory`, also on failure, and returns `entry`. If `entry` is a directory of another
/// file system, closes it and returns -1 with errno EXDEV.
inline int StayOnDevice(int directory, int entry) {
  struct stat outer{};
  struct stat inner{};
  const bool known = entry >= 0 && ::fstat(directory, &outer) == 0 && ::fstat(entry, &inner) == 0;
  const int error = errno;
  ::close(directory);
  errno = error;
  if (!known || !S_ISDIR(inner.st_mode) || inner.st_dev == outer.st_dev) return entry;
  ::close(entry);
  errno = EXDEV;
  return -1;
}

/// OpenBelow() with one openat() per path component. Follows no link, and refuses ".." with EXDEV.
inline int OpenInSteps(int directory, const char* path, const open_how& how) {
  if (*path == '/') {
    errno = EXDEV;
    return -1;
  }
  int at = ::fcntl(directory, F_DUPFD_CLOEXEC, 0);
  for (bool last = false; at >= 0 && !last;) {
    char name[NAME_MAX + 1];
    const std::size_t size = std::strcspn(path, "/");
    const char* next = path + size + std::strspn(path + size, "/");
    last = *next == '\0';
    const bool leads_out = size == 2 && std::memcmp(path, "..", size) == 0;
    if (size == 0 || size > NAME_MAX || leads_out) {
      ::close(at);
      errno = leads_out ? EXDEV : size == 0 ? ENOENT : ENAMETOOLONG;
      return -1;
    }
    std::memcpy(name, path, size);
    name[size] = '\0';
    const bool folder = !last || path[size] == '/';
    const auto flags = static_cast<int>(last ? how.flags : O_PATH);
    const int entry =
        ::openat(at, name, flags | (folder ? O_DIRECTORY : 0) | O_NOFOLLOW | O_CLOEXEC,
                 static_cast<mode_t>(how.mode));
    at = StayOnDevice(at, entry);
    path = next;
  }
  return at;
}

/// Opens `path` below `directory` (borrowed). `how` must have RESOLVE_BENEATH. Returns a
/// descriptor, or -1 with errno.
inline int OpenBelow(int directory, const char* path, const open_how& how) {
  const auto fd = static_cast<int>(::syscall(SYS_openat2, directory, path, &how, sizeof how));
  return fd < 0 && errno == ENOSYS ? OpenInSteps(directory, path, how) : fd;
}

}  // namespace polybox::sys
