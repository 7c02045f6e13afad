#include "net/address.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <netdb.h>

#include <arpa/inet.h>

namespace polybox::net {
namespace {

constexpr std::size_t kLongestName = 253;

struct Range {
  std::uint32_t network;
  int bits;
};

// Address ranges that are not on the public internet, from RFC 6890. The three documentation
// networks are left out, because no host has such an address.
constexpr Range kNotPublic[] = {
    {0x00000000, 8},   // this host
    {0x0A000000, 8},   // private
    {0x64400000, 10},  // shared address space of carrier NAT
    {0x7F000000, 8},   // loopback
    {0xA83F8110, 32},  // 168.63.129.16, the host of a virtual machine in Azure
    {0xA9FE0000, 16},  // link-local, and the metadata services of clouds
    {0xAC100000, 12},  // private
    {0xC0000000, 24},  // protocol assignments
    {0xC0A80000, 16},  // private
    {0xC6120000, 15},  // measurements between networks
    {0xE0000000, 4},   // multicast
    {0xF0000000, 4},   // reserved, and broadcast
};

bool IsPublicV4(std::uint32_t address) {
  return std::ranges::none_of(kNotPublic, [&](const Range& range) {
    return (address >> (32 - range.bits)) == (range.network >> (32 - range.bits));
  });
}

std::uint32_t BigEndian(const std::uint8_t* bytes) {
  return std::uint32_t{bytes[0]} << 24U | std::uint32_t{bytes[1]} << 16U |
         std::uint32_t{bytes[2]} << 8U | bytes[3];
}

/// Returns the IPv4 address that an IPv6 address embeds.
std::optional<std::uint32_t> StandsFor(const in6_addr& address) {
  const std::uint8_t* bytes = address.s6_addr;
  constexpr std::array<std::uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  constexpr std::array<std::uint8_t, 12> kNat64 = {0, 0x64, 0xff, 0x9b};
  if (std::equal(kMapped.begin(), kMapped.end(), bytes) ||
      std::equal(kNat64.begin(), kNat64.end(), bytes)) {
    return BigEndian(bytes + 12);
  }
  if (bytes[0] == 0x20 && bytes[1] == 0x02) return BigEndian(bytes + 2);  // 6to4
  return std::nullopt;
}

bool IsPublicV6(const in6_addr& address) {
  if (const auto v4 = StandsFor(address)) return IsPublicV4(*v4);
  const std::uint8_t* bytes = address.s6_addr;
  // Teredo and the other protocol assignments below 2001:200::.
  if (bytes[0] == 0x20 && bytes[1] == 0x01 && bytes[2] < 2) return false;
  // Only 2000::/3 has been assigned. Private, link-local, multicast and loopback addresses and the
  // compatible spelling of IPv4 are all outside this range.
  return (bytes[0] & 0xE0U) == 0x20;
}

std::optional<in6_addr> V6Of(const Address& address) {
  if (address.storage.ss_family != AF_INET6) return std::nullopt;
  sockaddr_in6 v6{};
  std::memcpy(&v6, &address.storage, sizeof v6);
  return v6.sin6_addr;
}

/// Returns the IPv4 address, also of an IPv6 address that embeds one.
std::optional<std::uint32_t> V4Of(const Address& address) {
  if (const auto v6 = V6Of(address)) return StandsFor(*v6);
  if (address.storage.ss_family != AF_INET) return std::nullopt;
  sockaddr_in v4{};
  std::memcpy(&v4, &address.storage, sizeof v4);
  return ntohl(v4.sin_addr.s_addr);
}

bool IsNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
}

bool IsAddressCharacter(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || c == ':' || c == '.';
}

/// Returns the canonical spelling of an address, for comparison; "" for a text that is no address.
/// Checks each byte first, because inet_pton() stops at the first NUL.
std::string SpelledOut(int family, const std::string& text) {
  in6_addr parsed{};
  std::array<char, INET6_ADDRSTRLEN> spelled{};
  if (!std::ranges::all_of(text, IsAddressCharacter) ||
      ::inet_pton(family, text.c_str(), &parsed) != 1 ||
      ::inet_ntop(family, &parsed, spelled.data(), spelled.size()) == nullptr) {
    return "";
  }
  return spelled.data();
}

/// Returns whether the text is a host name that no resolver could take for an address. No top level
/// domain begins with a digit, but every old spelling of an address ends in a number.
bool IsName(const std::string& text) {
  if (text.empty() || text.size() > kLongestName || !std::ranges::all_of(text, IsNameCharacter)) {
    return false;
  }
  if (text.front() == '.' || text.front() == '-' || text.find("..") != std::string::npos) {
    return false;
  }
  const std::size_t dot = text.rfind('.');
  const char last = text[dot == std::string::npos ? 0 : dot + 1];
  return last < '0' || last > '9';
}

std::optional<std::uint16_t> ParsePort(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size() || port == 0) return std::nullopt;
  return port;
}

}  // namespace

std::string ToText(const Address& address) {
  std::array<char, NI_MAXHOST> text{};
  const int failed = ::getnameinfo(address.get(), address.length, text.data(), text.size(), nullptr,
                                   0, NI_NUMERICHOST);
  return failed == 0 ? text.data() : "?";
}

bool IsPublic(const Address& address) {
  if (const auto v4 = V4Of(address)) return IsPublicV4(*v4);
  const auto v6 = V6Of(address);
  return v6 && IsPublicV6(*v6);
}

bool IsSameHost(const Address& one, const Address& other) {
  const auto v4 = V4Of(one);
  if (v4 || V4Of(other)) return v4 == V4Of(other);
  const auto v6 = V6Of(one);
  const auto other_v6 = V6Of(other);
  return v6 && other_v6 && std::memcmp(&*v6, &*other_v6, sizeof *v6) == 0;
}

std::optional<HostPort> ParseHostPort(std::string_view text, std::uint16_t default_port) {
  const bool bracketed = text.starts_with('[');
  const std::size_t host_end = bracketed ? text.find(']') : text.find(':');
  if (bracketed && host_end == std::string_view::npos) return std::nullopt;
  std::string host(bracketed ? text.substr(1, host_end - 1) : text.substr(0, host_end));
  std::string_view rest =
      host_end == std::string_view::npos ? "" : text.substr(host_end + (bracketed ? 1 : 0));
  HostPort parsed;
  parsed.port = default_port;
  if (!rest.empty()) {
    const auto port = rest.front() == ':' ? ParsePort(rest.substr(1)) : std::nullopt;
    if (!port) return std::nullopt;
    parsed.port = *port;
  }
  for (char& c : host) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  if (!bracketed && host.ends_with('.')) host.pop_back();
  // A second dot would leave "192.0.2.1.", which is no address here but may be one for a resolver.
  if (host.ends_with('.')) return std::nullopt;
  parsed.host = SpelledOut(bracketed ? AF_INET6 : AF_INET, host);
  parsed.is_address = !parsed.host.empty();
  if (parsed.port == 0 || (!parsed.is_address && (bracketed || !IsName(host)))) return std::nullopt;
  if (!parsed.is_address) parsed.host = std::move(host);
  return parsed;
}

std::optional<HostPortText> SplitHostPort(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return HostPortText{std::string(host), std::string(text.substr(colon + 1))};
}

std::string Bracketed(const std::string& host) {
  return host.find(':') == std::string::npos ? host : "[" + host + "]";
}

std::string JoinHostPort(const std::string& host, std::uint16_t port) {
  return Bracketed(host) + ":" + std::to_string(port);
}

}  // namespace polybox::net
