// Hosts and addresses as a stranger writes them, and which addresses belong to the public internet.
// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <netinet/in.h>
#include <sys/socket.h>

namespace polybox::net {

/// An address as getaddrinfo() gives it and connect() takes it.
struct Address {
  sockaddr_storage storage{};
  socklen_t length = 0;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

/// "203.0.113.1", "2001:db8::1"; for messages.
std::string ToText(const Address& address);

/// Neither loopback, private, link-local, shared (carrier NAT), multicast, reserved nor
/// unspecified; an IPv6 address that stands for an IPv4 one is judged by that.
bool IsPublic(const Address& address);

/// Whether it is the same host, whatever the port: an IPv6 address that stands for an IPv4 one is
/// that one.
bool IsSameHost(const Address& one, const Address& other);

struct HostPort {
  /// Lower case, without the brackets of IPv6 and without the dot at the end; an address as
  /// ToText() spells it. Letters, digits and ".-_:", never anything else.
  std::string host;
  std::uint16_t port = 0;
  bool is_address = false;
};

/// HOST:PORT or [IPv6]:PORT, and with `default_port` above 0 also without a port. Nothing but names
/// and the usual spelling of addresses: 0x7f.1, 017700000001 and 2130706433 are none.
std::optional<HostPort> ParseHostPort(std::string_view text, std::uint16_t default_port = 0);

}  // namespace polybox::net
