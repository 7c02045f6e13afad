#include "jail/init/remove.h"

#include <cerrno>
#include <cstdio>
#include <dirent.h>
#include <fcntl.h>
#include <string>
#include <unistd.h>
#include <vector>

#include <sys/stat.h>

namespace polybox::jail::init {
namespace {

// So many names are held at once: a guest chooses how many there are.
constexpr std::size_t kBatch = 1024;

/// Some of the names in it; none when it is empty or cannot be read.
std::vector<std::string> SomeNames(int directory) {
  std::vector<std::string> names;
  const int own = ::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (own < 0) return names;
  DIR* stream = ::fdopendir(own);
  if (stream == nullptr) {
    ::close(own);
    return names;
  }
  while (names.size() < kBatch) {
    const dirent* entry = ::readdir(stream);
    if (entry == nullptr) break;
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  ::closedir(stream);
  return names;
}

/// A file, a link or an empty directory.
bool RemoveSimple(int directory, const std::string& name) {
  if (::unlinkat(directory, name.c_str(), 0) == 0) return true;
  return errno == EISDIR && ::unlinkat(directory, name.c_str(), AT_REMOVEDIR) == 0;
}

/// Brings directories of any depth to the top, so that none is ever entered further than one level.
class Flattener {
 public:
  explicit Flattener(int top) : top_(top) {}

  int Remove(const std::string& name) {
    if (RemoveSimple(top_, name)) return 0;
    if (errno != ENOTEMPTY && errno != EEXIST && errno != EACCES) return errno;
    // Guests close directories against whoever cleans up.
    const int inner = OpenClosed(top_, name.c_str());
    if (inner < 0) return errno;
    const int error = Empty(inner);
    ::close(inner);
    if (error != 0) return error;
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
    // A directory can only be moved by someone who may write to it.
    const int moved = OpenClosed(inner, name.c_str());
    if (moved < 0) return errno;
    ::close(moved);
    // A guest may have used such a name itself: then another is free.
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
  const int place = ::openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (place < 0) return -1;
  // By the descriptor: a name could have become a link by now.
  char path[32];
  std::snprintf(path, sizeof path, "/proc/self/fd/%d", place);
  const bool opened = ::chmod(path, S_IRWXU) == 0;
  const int fd = opened ? ::openat(place, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
  const int error = errno;
  ::close(place);
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
