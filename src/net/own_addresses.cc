#include "net/own_addresses.h"

#include <cstring>
#include <ifaddrs.h>
#include <memory>

#include <net/if.h>

namespace polybox::net {
namespace {

/// Returns an empty address (length 0) for loopback interfaces and for families other than IPv4 and
/// IPv6.
Address AddressOf(const ifaddrs& one) {
  Address address;
  if (one.ifa_addr == nullptr || (one.ifa_flags & IFF_LOOPBACK) != 0) return address;
  const bool is_v4 = one.ifa_addr->sa_family == AF_INET;
  if (!is_v4 && one.ifa_addr->sa_family != AF_INET6) return address;
  address.length = is_v4 ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  std::memcpy(&address.storage, one.ifa_addr, address.length);
  return address;
}

}  // namespace

bool IsOwn(const Address& address) {
  ifaddrs* found = nullptr;
  if (::getifaddrs(&found) != 0) return true;
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owned(found, ::freeifaddrs);
  for (const ifaddrs* one = found; one != nullptr; one = one->ifa_next) {
    const Address own = AddressOf(*one);
    if (own.length > 0 && IsSameHost(own, address)) return true;
  }
  return false;
}

}  // namespace polybox::net
