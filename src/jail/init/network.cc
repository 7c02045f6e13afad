#include <cerrno>
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include "jail/init/slot.h"

namespace polybox::jail::init {
namespace {

// What a guest can move although nothing here reaches anyone: failed routes and names for flows.
// The counters of packets and connections (netstat, dev, ...) need a network that works.
constexpr const char* kCounters[] = {"snmp", "snmp6", "rt6_stats", "ip6_flowlabel"};

}  // namespace

int Network::Open() {
  directory_ = ::open("/proc/self/net", O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (directory_ < 0) return errno;
  Look();
  return 0;
}

/// Opens the counters of the present namespace, which nobody has moved yet. A kernel without IPv6
/// lacks some.
void Network::Look() {
  for (const int fd : counters_) ::close(fd);
  counters_.clear();
  for (const char* name : kCounters) {
    const int fd = ::openat(directory_, name, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) counters_.push_back(fd);
  }
  unused_ = Read();
  sockets_.Look(directory_);
}

std::string Network::Read() const {
  std::string text;
  char buffer[8192];
  for (const int fd : counters_) {
    // All of it at once: where a second read begins, the kernel counts all anew.
    const ssize_t count = ::pread(fd, buffer, sizeof buffer, 0);
    if (count > 0) text.append(buffer, static_cast<std::size_t>(count));
  }
  return text;
}

int Network::OpenEgress() {
  has_egress_ = true;
  return ListenForEgress(listener_);
}

int Network::Renew() {
  // With a loopback there are counters that are not looked at, ports that linger, and tunnels of
  // the last session that may still be open at the proxy.
  if (!has_egress_ && Read() == unused_) return 0;
  if (::unshare(CLONE_NEWNET) != 0) return errno;
  ++renewals_;
  Look();
  return has_egress_ ? OpenEgress() : 0;
}

}  // namespace polybox::jail::init
