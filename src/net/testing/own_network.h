// A network namespace for one test, with the test's own addresses. No connection is possible
// between this namespace and the machine that runs the test.
#pragma once

#include <functional>
#include <sched.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <arpa/inet.h>
#include <linux/ipv6.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/unique_fd.h"

namespace polybox::net::testing {

inline bool AddV4To(const std::string& interface, const std::string& address) {
  const UniqueFd fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  interface.copy(request.ifr_name, IFNAMSIZ - 1);
  auto* where = reinterpret_cast<sockaddr_in*>(&request.ifr_addr);
  where->sin_family = AF_INET;
  return ::inet_pton(AF_INET, address.c_str(), &where->sin_addr) == 1 &&
         ::ioctl(fd.get(), SIOCSIFADDR, &request) == 0;
}

/// Adds an IPv4 address to loopback, as its alias number `number`.
inline bool AddV4(const std::string& address, int number) {
  return AddV4To("lo:" + std::to_string(number), address);
}

inline bool AddV6(const std::string& address) {
  const UniqueFd fd(::socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  in6_ifreq request{};
  request.ifr6_prefixlen = 128;
  request.ifr6_ifindex = static_cast<int>(::if_nametoindex("lo"));
  return ::inet_pton(AF_INET6, address.c_str(), &request.ifr6_addr) == 1 &&
         ::ioctl(fd.get(), SIOCSIFADDR, &request) == 0;
}

inline bool RaiseLoopback() {
  const UniqueFd fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  std::string("lo").copy(request.ifr_name, IFNAMSIZ - 1);
  request.ifr_flags = IFF_UP | IFF_LOOPBACK | IFF_RUNNING;
  return ::ioctl(fd.get(), SIOCSIFFLAGS, &request) == 0;
}

/// Runs `body` on a thread in a new network namespace; threads that `body` starts are in it too.
/// Returns false when no namespace can be made.
inline bool InOwnNetwork(const std::function<void()>& body) {
  bool made = false;
  std::thread([&] {
    made = ::unshare(CLONE_NEWNET) == 0 && RaiseLoopback();
    if (made) body();
  }).join();
  return made;
}

}  // namespace polybox::net::testing
