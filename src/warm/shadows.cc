#include "warm/shadows.h"

#include <cstdlib>
#include <fcntl.h>
#include <string_view>
#include <unistd.h>

#include <sys/stat.h>
#include <sys/syscall.h>

namespace polybox::warm {
namespace {

/// The entries that getdents64() returns.
struct Entry {
  ino64_t inode;
  off64_t offset;
  unsigned short size;
  unsigned char type;
  char name[];
};

/// Returns whether the name is that of a loaded module: a directory, or a file with one of several
/// endings.
bool IsLoaded(std::string_view name, std::string_view loaded) {
  const std::string_view module = name.substr(0, name.find('.'));
  std::size_t at = module.empty() ? std::string_view::npos : loaded.find(module);
  while (at != std::string_view::npos) {
    const std::size_t end = at + module.size();
    if (at > 0 && loaded[at - 1] == ' ' && end < loaded.size() && loaded[end] == ' ') return true;
    at = loaded.find(module, at + 1);
  }
  return false;
}

/// Makes the system call itself and reads to the stack, because each page of the heap that is
/// touched is copied.
bool HasLoaded(int directory, std::string_view loaded) {
  alignas(Entry) char room[2048];
  while (true) {
    const long size = ::syscall(SYS_getdents64, directory, room, sizeof room);
    if (size <= 0) return size < 0;
    for (long at = 0; at < size;) {
      const Entry* entry = reinterpret_cast<const Entry*>(room + at);
      if (IsLoaded(entry->name, loaded)) return true;
      at += entry->size;
    }
  }
}

/// Returns whether the user's home may have packages. Also true without a home.
bool HasOwnPackages() {
  const char* home = ::getenv("HOME");
  if (home == nullptr) return true;
  struct stat info{};
  return ::stat((std::string(home) + "/.local").c_str(), &info) == 0;
}

}  // namespace

bool IsShadowed(const std::string& program, std::string_view loaded) {
  const std::size_t slash = program.rfind('/');
  const std::string parent = slash == std::string::npos ? "." : program.substr(0, slash + 1);
  const int directory = ::openat(AT_FDCWD, parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return true;
  const bool has_loaded = HasLoaded(directory, loaded);
  ::close(directory);
  return has_loaded || HasOwnPackages();
}

}  // namespace polybox::warm
