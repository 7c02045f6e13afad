// Sockets that were sent and never received hold each other, and whatever else was sent with them:
// files with their locks and memory. They outlive all who had them, until the kernel's collector
// comes by, which those who know how can keep busy for a while. Each has a unix socket in it, which
// the namespace that it was made in lists. The list takes long to read, the number of all sockets
// does not.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <fcntl.h>
#include <string_view>
#include <unistd.h>

#include <sys/socket.h>
#include <sys/stat.h>

#include "jail/init/slot.h"

namespace polybox::jail::init {
namespace {

ino_t NumberOf(int fd) {
  struct stat info{};
  return ::fstat(fd, &info) == 0 ? info.st_ino : 0;
}

/// In a line of /proc/net/unix; 0 when it cannot be told.
ino_t NumberIn(const char* line) {
  unsigned long number = 0;
  return std::sscanf(line, "%*s %*s %*s %*s %*s %*s %lu", &number) == 1 ? number : 0;
}

bool IsOneOf(const OwnSockets& ours, ino_t number) {
  return std::ranges::any_of(ours, [&](const SocketNumbers& pair) {
    return std::ranges::find(pair, number) != pair.end();
  });
}

/// Whether /proc/net/unix lists more than `ours`.
bool ListsOthers(int list, const OwnSockets& ours) {
  char text[8192];  // who has more than fits has others
  const ssize_t size = ::pread(list, text, sizeof text - 1, 0);
  if (size < 0) return true;
  text[size] = '\0';
  const std::string_view all(text, static_cast<std::size_t>(size));
  // The first line says what the others are.
  for (std::size_t end = all.find('\n'); end != std::string_view::npos && end + 1 < all.size();
       end = all.find('\n', end + 1)) {
    const ino_t number = NumberIn(text + end + 1);
    if (number == 0 || !IsOneOf(ours, number)) return true;
  }
  return false;
}

/// The first line of /proc/net/sockstat; "" when there is none.
std::string Count(int count) {
  char text[256];
  const ssize_t size = ::pread(count, text, sizeof text, 0);
  const std::string_view all(text, size < 0 ? 0 : static_cast<std::size_t>(size));
  return std::string(all.substr(0, all.find('\n')));
}

/// It comes when a socket is closed while others are in flight.
void CallCollector() {
  int sockets[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) return;
  ::close(sockets[0]);
  ::close(sockets[1]);
}

}  // namespace

SocketNumbers NumbersOf(const int (&sockets)[2]) {
  return {NumberOf(sockets[0]), NumberOf(sockets[1])};
}

void Sockets::Look(int directory) {
  for (const int fd : {list_, count_}) {
    if (fd >= 0) ::close(fd);
  }
  list_ = ::openat(directory, "unix", O_RDONLY | O_CLOEXEC);
  count_ = ::openat(directory, "sockstat", O_RDONLY | O_CLOEXEC);
  quiet_count_.clear();
}

bool Sockets::HasOthers(const OwnSockets& ours) {
  const std::string count = Count(count_);
  if (!count.empty() && count == quiet_count_ && ours == quiet_ours_) return false;
  if (ListsOthers(list_, ours)) return true;
  quiet_count_ = count;
  quiet_ours_ = ours;
  return false;
}

int Sockets::AwaitNone(const OwnSockets& ours, bool& waited) {
  constexpr timespec kPause = {0, 1'000'000};
  constexpr int kMostPauses = 3000;
  // What was sent with the last ones is closed in the same go, but not before them.
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
