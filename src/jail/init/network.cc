#include "jail/init/network.h"

#include <cerrno>
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>
#include <utility>

#include <sys/stat.h>

#include "jail/init/egress.h"

namespace polybox::jail::init {
namespace {

// What a guest can change although its namespace reaches no other machine: failed routes, and flow
// labels. The counters of packets and connections (netstat, dev, ...) need a working network.
constexpr const char* kCounters[] = {"snmp", "snmp6", "rt6_stats", "ip6_flowlabel"};

// Files of /proc/net with figures of the whole machine: memory of all sockets, packets of all
// processors, tables of all namespaces. Two guests could communicate through these.
constexpr const char* kOfTheMachine[] = {"sockstat",     "sockstat6", "protocols",
                                         "softnet_stat", "ptype",     "stat"};

/// Denies guests access to those files. A mount could not, because each process has a /proc/PID/net
/// of its own. The files belong to the root of the slot's user namespace. Without such a root
/// (grade rootless) they belong to nobody and stay open.
void CloseFiguresOfTheMachine(int directory) {
  for (const char* name : kOfTheMachine) (void)!::fchmodat(directory, name, S_IRUSR, 0);
}

}  // namespace

int Network::Open() {
  // Made here, later than the other namespaces: only now does the user namespace have a root to
  // which the files of /proc/net can belong.
  if (::unshare(CLONE_NEWNET) != 0) return errno;
  directory_.reset(::open("/proc/self/net", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory_.valid()) return errno;
  Look();
  return 0;
}

/// Opens the counters of the present namespace, which no guest has changed yet. A kernel without
/// IPv6 lacks some of them.
void Network::Look() {
  CloseFiguresOfTheMachine(directory_.get());
  counters_.clear();
  for (const char* name : kCounters) {
    UniqueFd file(::openat(directory_.get(), name, O_RDONLY | O_CLOEXEC));
    if (file.valid()) counters_.push_back(std::move(file));
  }
  unused_ = Read();
  sockets_.Look(directory_.get());
}

std::string Network::Read() const {
  std::string text;
  char buffer[8192];
  for (const UniqueFd& file : counters_) {
    // One read for the whole file: at a second read the kernel counts everything anew.
    const ssize_t count = ::pread(file.get(), buffer, sizeof buffer, 0);
    if (count > 0) text.append(buffer, static_cast<std::size_t>(count));
  }
  return text;
}

int Network::OpenEgress() {
  has_egress_ = true;
  listener_.reset();
  return ListenForEgress(listener_);
}

int Network::Renew(const Reuse& reuse) {
  if (reuse.OfNetwork(has_egress_, [&] { return Read() == unused_; })) return 0;
  if (::unshare(CLONE_NEWNET) != 0) return errno;
  ++renewals_;
  Look();
  return has_egress_ ? OpenEgress() : 0;
}

}  // namespace polybox::jail::init
