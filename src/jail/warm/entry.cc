#include <fcntl.h>
#include <string>
#include <string_view>
#include <unistd.h>

#include <sys/mman.h>

#include "jail/warm/warm.h"

namespace polybox::jail::warm {
namespace {

// Ruby looks at the first byte of its program before it loads anything, and reads on when all is
// loaded. This one is the first of a byte order mark, which it skips.
constexpr std::string_view kMark = "\xEF\xBB\xBF";

bool ReadAll(int fd, std::string& text) {
  char piece[16384];
  ssize_t size = 0;
  while ((size = ::pread(fd, piece, sizeof piece, static_cast<off_t>(text.size()))) > 0) {
    text.append(piece, static_cast<std::size_t>(size));
  }
  return size == 0;
}

/// Switches in a first line, another mark, or a word about the encoding count before all else.
bool IsPlain(const std::string& program) {
  const std::size_t first = program.find('\n');
  const std::size_t second = first == std::string::npos ? first : program.find('\n', first + 1);
  return !program.starts_with("#!") && !program.starts_with(kMark) &&
         program.substr(0, second).find("coding") == std::string::npos;
}

}  // namespace

int OpenPlaceholder() {
  const int fd = ::memfd_create("program", MFD_CLOEXEC);
  if (fd >= 0 && ::pwrite(fd, kMark.data(), 1, 0) != 1) {
    ::close(fd);
    return -1;
  }
  return fd;
}

bool TakeEntry(const char* path, int placeholder) {
  const int file = ::openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  std::string program(kMark);
  std::string text;
  const bool usable = ReadAll(file, text) && IsPlain(text);
  ::close(file);
  if (!usable) return false;
  program += text;
  const int content = ::memfd_create("program", MFD_CLOEXEC);
  const bool taken = content >= 0 &&
                     ::pwrite(content, program.data(), program.size(), 0) ==
                         static_cast<ssize_t>(program.size()) &&
                     ::lseek(content, 1, SEEK_SET) == 1 &&
                     ::dup3(content, placeholder, O_CLOEXEC) >= 0;
  ::close(content);
  return taken;
}

}  // namespace polybox::jail::warm
