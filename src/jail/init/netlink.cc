// Sockets of the protocol NETLINK_ROUTE, by which programs list network interfaces. An answer that
// no process reads is kernel memory that no cgroup counts, up to the receive buffer of its socket.
// So the number of such sockets is bounded. The filter leaves each call that makes one to the slot
// init ("ask" in policies/seccomp.toml), which lets the call continue or fail.
//
// The slot init never makes the socket itself, since its own call would wait for its own answer. A
// call that continues has not made its socket yet. So the slot init adds the calls on their way to
// the sockets that exist.
#include "jail/init/netlink.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <poll.h>
#include <string_view>
#include <unistd.h>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "jail/init/guest.h"
#include "jail/init/step_result.h"

namespace polybox::jail::init {
namespace {

constexpr std::int64_t kMillisecond = 1'000'000;

// A program that lists interfaces has one socket at a time. Each socket can hold as much as twice
// net.core.rmem_max of the host.
constexpr long kMostSockets = 8;
// A call that may continue has made its socket after this time, even where a processor quota stops
// it.
constexpr std::int64_t kMostOnTheWay = 100 * kMillisecond;
// The wait while as many calls are on their way as there may be sockets.
constexpr std::int64_t kPause = 5 * kMillisecond;

// An answer costs up to 60 µs of processor time that is not the guest's: 1 % of a core at this
// pace. Together with a cell's init (cpu_share.cc) and a TreeWatch, it stays below the 5 % that
// SECURITY.md promises.
constexpr std::int64_t kInterval = 6 * kMillisecond;
// The number of answers in a row before the pace applies.
constexpr std::int64_t kBurst = 64;

std::int64_t Now() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

/// Rounded up.
int Milliseconds(std::int64_t nanoseconds) {
  return static_cast<int>((nanoseconds + kMillisecond - 1) / kMillisecond);
}

/// Returns the number of netlink sockets in the network namespace of `directory`, a /proc/self/net;
/// -1 when the number is unknown.
long CountSockets(int directory) {
  const UniqueFd file(::openat(directory, "protocols", O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return -1;
  char text[16384];
  std::size_t size = 0;
  ssize_t count = 0;
  while (size < sizeof text && (count = ::read(file.get(), text + size, sizeof text - size)) > 0) {
    size += static_cast<std::size_t>(count);
  }
  const std::string_view all(text, size);
  const std::size_t line = all.find("\nNETLINK ");
  if (line == std::string_view::npos || all.find('\n', line + 1) == std::string_view::npos) {
    return -1;
  }
  // The columns are the protocol's name, the size of one socket, and the number of sockets.
  long sockets = -1;
  return std::sscanf(text + line + 1, "%*s %*s %ld", &sockets) == 1 ? sockets : -1;
}

}  // namespace

StepResult RouteSockets::Install(const std::string& filter, int directory) {
  directory_ = directory;
  const sock_fprog program = {
      static_cast<unsigned short>(filter.size() / sizeof(sock_filter)),
      reinterpret_cast<sock_filter*>(const_cast<char*>(filter.data())),
  };
  if (program.len == 0) return {};
  listener_.reset(static_cast<int>(
      ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program)));
  // EBUSY: the container around polybox has a listener for its own filter, and a process can have
  // only one listener. The kernel then refuses netlink sockets of guests with ENOSYS.
  return listener_.valid() ? StepResult() : InstallFilter(filter);
}

bool RouteSockets::AnswerUntilReadable(int socket, int milliseconds) {
  const std::int64_t deadline = milliseconds < 0 ? -1 : Now() + milliseconds * kMillisecond;
  while (true) {
    const std::int64_t now = Now();
    if (deadline >= 0 && now >= deadline) return false;
    if (is_asked_ && now >= rests_until_) Decide(now);
    const bool listens = listener_.valid() && !is_asked_ && now >= rests_until_;
    pollfd polled[] = {{socket, POLLIN, 0}, {listener_.get(), POLLIN, 0}};
    std::int64_t end = deadline;
    if (rests_until_ > now && (end < 0 || rests_until_ < end)) end = rests_until_;
    const int most = end < 0 ? -1 : Milliseconds(end - now);
    if (::poll(polled, listens ? 2 : 1, most) <= 0) continue;
    if (polled[0].revents != 0) return true;
    TakeRequest();
  }
}

void RouteSockets::TakeRequest() {
  seccomp_notif request{};
  // The call fails when the process that waited for the answer has died.
  if (::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_RECV, &request) != 0) return;
  is_asked_ = true;
  request_ = request.id;
  thread_ = request.pid;
  const std::int64_t now = Now();
  next_ = std::max(next_, now - kBurst * kInterval) + kInterval;
  Decide(now);
}

void RouteSockets::Decide(std::int64_t now) {
  // A thread that asks again has made the socket of its last call.
  std::erase_if(on_the_way_, [&](const OnTheWay& call) {
    return call.thread == thread_ || now >= call.since + kMostOnTheWay;
  });
  const long sockets = CountSockets(directory_);
  const bool full = sockets < 0 || sockets >= kMostSockets;
  if (!full && sockets + static_cast<long>(on_the_way_.size()) >= kMostSockets) {
    rests_until_ = now + kPause;
    return;
  }
  seccomp_notif_resp answer{};
  answer.id = request_;
  if (full) {
    answer.error = -ENFILE;
  } else {
    // The kernel takes the arguments from the registers of the waiting thread. No other thread can
    // change them in between.
    answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    on_the_way_.push_back({thread_, now});
  }
  ::ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_SEND, &answer);
  is_asked_ = false;
  rests_until_ = next_;
}

}  // namespace polybox::jail::init
