// Parses hosts, addresses and HOST:PORT, and tells which addresses belong to the public internet.
// Pure functions: no I/O and no state.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <netinet/in.h>
#include <sys/socket.h>

namespace polybox::net {

/// An address in the form that getaddrinfo() returns and connect() takes.
struct Address {
  sockaddr_storage storage{};
  socklen_t length = 0;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

/// Returns the numeric text, such as "203.0.113.1" or "2001:db8::1"; for messages.
std::string ToText(const Address& address);

/// Returns whether the address is on the public internet: neither loopback, private, link-local,
/// shared (carrier NAT), multicast, reserved nor unspecified. An IPv6 address that embeds an IPv4
/// address is judged by the IPv4 address.
bool IsPublic(const Address& address);

/// Returns whether both addresses are the same host; the ports are ignored. An IPv6 address that
/// embeds an IPv4 address equals that IPv4 address.
bool IsSameHost(const Address& one, const Address& other);

/// A host that an untrusted sender or an operator wrote, checked, with its port.
struct HostPort {
  /// In lower case, without the brackets of IPv6 and without a final dot. An address has the
  /// spelling of ToText(). Contains only letters, digits and ".-_:".
  std::string host;
  std::uint16_t port = 0;
  bool is_address = false;

  bool operator==(const HostPort&) const = default;
};

/// Parses HOST:PORT or [IPv6]:PORT. With `default_port` above 0 the port may be missing. Accepts
/// only names and the usual spelling of addresses; 0x7f.1, 017700000001 and 2130706433 are refused.
std::optional<HostPort> ParseHostPort(std::string_view text, std::uint16_t default_port = 0);

/// The two parts of HOST:PORT, unchecked. An IPv6 address has no brackets here.
struct HostPortText {
  std::string host;
  std::string port;
};

/// Splits HOST:PORT at the last colon. For addresses to listen on: the host is whatever the system
/// can resolve, and the port may be 0. Returns nothing if a part is missing.
std::optional<HostPortText> SplitHostPort(std::string_view text);
/// Returns the host with brackets if it is an IPv6 address, as in front of a port.
std::string Bracketed(const std::string& host);
/// The inverse of SplitHostPort().
std::string JoinHostPort(const std::string& host, std::uint16_t port);

}  // namespace polybox::net
