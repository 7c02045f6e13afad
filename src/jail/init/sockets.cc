// Unix sockets that were sent and never received refer to each other. They refer to everything else
// that was sent with them: files with their locks and memory. They outlive all processes that had
// them, until the kernel's garbage collector runs, which a guest can keep busy for a while. Each
// such group contains a unix socket that its network namespace lists. The list takes long to read;
// the number of all sockets does not.
#include "jail/init/sockets.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <fcntl.h>
#include <string_view>
#include <unistd.h>

#include <sys/socket.h>
#include <sys/stat.h>

namespace polybox::jail::init {
namespace {

ino_t NumberOf(int fd) {
  struct stat info{};
  return ::fstat(fd, &info) == 0 ? info.st_ino : 0;
}

/// Returns the inode number in a line of /proc/net/unix; 0 when there is none.
ino_t NumberIn(const char* line) {
  unsigned long number = 0;
  return std::sscanf(line, "%*s %*s %*s %*s %*s %*s %lu", &number) == 1 ? number : 0;
}

bool IsOneOf(const OwnSockets& ours, ino_t number) {
  return std::ranges::any_of(ours, [&](const SocketNumbers& pair) {
    return std::ranges::find(pair, number) != pair.end();
  });
}

/// Returns whether /proc/net/unix lists more sockets than `ours`.
bool ListsOthers(int list, const OwnSockets& ours) {
  char text[8192];  // a longer list has other sockets for sure
  const ssize_t size = ::pread(list, text, sizeof text - 1, 0);
  if (size < 0) return true;
  text[size] = '\0';
  const std::string_view all(text, static_cast<std::size_t>(size));
  // The first line has the names of the columns.
  for (std::size_t end = all.find('\n'); end != std::string_view::npos && end + 1 < all.size();
       end = all.find('\n', end + 1)) {
    const ino_t number = NumberIn(text + end + 1);
    if (number == 0 || !IsOneOf(ours, number)) return true;
  }
  return false;
}

/// Returns the first line of /proc/net/sockstat; "" when there is none.
std::string Count(int count) {
  char text[256];
  const ssize_t size = ::pread(count, text, sizeof text, 0);
  const std::string_view all(text, size < 0 ? 0 : static_cast<std::size_t>(size));
  return std::string(all.substr(0, all.find('\n')));
}

/// Makes the kernel collect: it does so when a socket is closed while others are in flight.
void CallCollector() {
  int sockets[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) return;
  const UniqueFd ends[] = {UniqueFd(sockets[0]), UniqueFd(sockets[1])};
}

}  // namespace

SocketNumbers NumbersOf(const int (&sockets)[2]) {
  return {NumberOf(sockets[0]), NumberOf(sockets[1])};
}

void Sockets::Look(int directory) {
  list_.reset(::openat(directory, "unix", O_RDONLY | O_CLOEXEC));
  count_.reset(::openat(directory, "sockstat", O_RDONLY | O_CLOEXEC));
  quiet_count_.clear();
}

bool Sockets::HasOthers(const OwnSockets& ours) {
  const std::string count = Count(count_.get());
  if (!count.empty() && count == quiet_count_ && ours == quiet_ours_) return false;
  if (ListsOthers(list_.get(), ours)) return true;
  quiet_count_ = count;
  quiet_ours_ = ours;
  return false;
}

int Sockets::AwaitNone(const OwnSockets& ours, bool& waited) {
  constexpr timespec kPause = {0, 1'000'000};
  constexpr int kMostPauses = 3000;
  // What was sent with the last sockets is closed in the same run of the collector, but after them.
  constexpr timespec kRest = {0, 20'000'000};
  waited = false;
  for (int i = 0; i < kMostPauses; ++i) {
    if (!HasOthers(ours)) {
      if (waited) ::nanosleep(&kRest, nullptr);
      return 0;
    }
    waited = true;
    CallCollector();
    ::nanosleep(&kPause, nullptr);
  }
  return ETIMEDOUT;
}

}  // namespace polybox::jail::init
