#include "http/address.h"

#include <memory>
#include <netdb.h>
#include <optional>
#include <utility>

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

Result<net::HostPortText> SplitAddress(const std::string& address) {
  std::optional<net::HostPortText> parts = net::SplitHostPort(address);
  if (parts) return *std::move(parts);
  return Error(ErrorKind::kInvalid, fmt::format("{}: expected HOST:PORT", address));
}

Result<bool> IsLoopback(const std::string& address) {
  POLYBOX_ASSIGN_OR_RETURN(const net::HostPortText parts, SplitAddress(address));
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
