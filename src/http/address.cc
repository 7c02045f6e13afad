#include "http/address.h"

#include <memory>
#include <netdb.h>

#include <fmt/format.h>
#include <netinet/in.h>

namespace polybox::http {
namespace {

bool IsLoopback(const sockaddr* address) {
  if (address->sa_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(address);
    return (ntohl(v4->sin_addr.s_addr) >> 24U) == 127;
  }
  const auto* v6 = reinterpret_cast<const sockaddr_in6*>(address);
  return address->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
}

}  // namespace

Result<HostPort> SplitAddress(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon == 0) {
    return Error(ErrorKind::kInvalid, fmt::format("{}: expected HOST:PORT", address));
  }
  HostPort parts{address.substr(0, colon), address.substr(colon + 1)};
  if (parts.host.starts_with('[') && parts.host.ends_with(']')) {
    parts.host = parts.host.substr(1, parts.host.size() - 2);
  }
  return parts;
}

std::string JoinAddress(const HostPort& parts) {
  const bool v6 = parts.host.find(':') != std::string::npos;
  return fmt::format(fmt::runtime(v6 ? "[{}]:{}" : "{}:{}"), parts.host, parts.port);
}

Result<bool> IsLoopback(const std::string& address) {
  POLYBOX_ASSIGN_OR_RETURN(const HostPort parts, SplitAddress(address));
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const int failure = ::getaddrinfo(parts.host.c_str(), parts.port.c_str(), &hints, &found);
  if (failure != 0) {
    return Error(ErrorKind::kInvalid, fmt::format("{}: {}", parts.host, ::gai_strerror(failure)));
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  for (const addrinfo* entry = found; entry != nullptr; entry = entry->ai_next) {
    if (!IsLoopback(entry->ai_addr)) return false;
  }
  return true;
}

}  // namespace polybox::http
