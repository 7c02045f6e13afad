#include "jail/init/remove.h"

#include <cerrno>
#include <cstdio>
#include <dirent.h>
#include <fcntl.h>
#include <string>
#include <unistd.h>
#include <vector>

#include <sys/stat.h>

#include "base/unique_fd.h"

namespace polybox::jail::init {
namespace {

// The number of names that are held at once. A guest chooses how many there are in all.
constexpr std::size_t kBatch = 1024;

/// Returns some of the names in the directory; none when it is empty or cannot be read.
std::vector<std::string> SomeNames(int directory) {
  std::vector<std::string> names;
  UniqueFd own(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!own.valid()) return names;
  DIR* stream = ::fdopendir(own.get());
  if (stream == nullptr) return names;
  (void)own.release();  // the stream's now
  while (names.size() < kBatch) {
    const dirent* entry = ::readdir(stream);
    if (entry == nullptr) break;
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  ::closedir(stream);
  return names;
}

/// Removes a file, a link or an empty directory.
bool RemoveSimple(int directory, const std::string& name) {
  if (::unlinkat(directory, name.c_str(), 0) == 0) return true;
  return errno == EISDIR && ::unlinkat(directory, name.c_str(), AT_REMOVEDIR) == 0;
}

/// Moves directories of any depth to the top directory, so that the code never enters more than one
/// level.
class Flattener {
 public:
  explicit Flattener(int top) : top_(top) {}

  int Remove(const std::string& name) {
    if (RemoveSimple(top_, name)) return 0;
    if (errno != ENOTEMPTY && errno != EEXIST && errno != EACCES) return errno;
    // Guests may have closed directories to the process that cleans up.
    const UniqueFd inner(OpenClosed(top_, name.c_str()));
    if (!inner.valid()) return errno;
    if (const int error = Empty(inner.get())) return error;
    return ::unlinkat(top_, name.c_str(), AT_REMOVEDIR) == 0 ? 0 : errno;
  }

 private:
  int Empty(int inner) {
    for (auto names = SomeNames(inner); !names.empty(); names = SomeNames(inner)) {
      for (const std::string& name : names) {
        if (RemoveSimple(inner, name)) continue;
        if (const int error = Lift(inner, name)) return error;
      }
    }
    return 0;
  }

  int Lift(int inner, const std::string& name) {
    // Only a process that may write to a directory can move it.
    if (!UniqueFd(OpenClosed(inner, name.c_str())).valid()) return errno;
    // A guest may have used the same name. Then another number is free.
    constexpr int kMostTaken = 1 << 20;
    for (int i = 0; i < kMostTaken; ++i) {
      char fresh[32];
      std::snprintf(fresh, sizeof fresh, "polybox-%d", next_++);
      if (::renameat(inner, name.c_str(), top_, fresh) == 0) return 0;
      if (errno != EEXIST && errno != ENOTEMPTY && errno != ENOTDIR) return errno;
    }
    return EEXIST;
  }

  int top_;
  int next_ = 0;
};

}  // namespace

int OpenClosed(int parent, const char* name) {
  UniqueFd place(::openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!place.valid()) return -1;
  // By the descriptor, because another process could have replaced the name by a link.
  char path[32];
  std::snprintf(path, sizeof path, "/proc/self/fd/%d", place.get());
  const bool opened = ::chmod(path, S_IRWXU) == 0;
  const int fd = opened ? ::openat(place.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
  const int error = errno;
  place.reset();
  errno = error;
  return fd;
}

int RemoveContents(int directory) {
  Flattener flattener(directory);
  for (auto names = SomeNames(directory); !names.empty(); names = SomeNames(directory)) {
    for (const std::string& name : names) {
      if (const int error = flattener.Remove(name); error != 0 && error != ENOENT) return error;
    }
  }
  return 0;
}

}  // namespace polybox::jail::init
