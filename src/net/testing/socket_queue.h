// What waits in the kernel at a socket that the code under test owns. Tests use it to wait until a
// server has accepted a connection or has read what was sent.
#pragma once

#include <cstdint>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace polybox::net::testing {

/// The form of an IPv4 address and port in /proc/net/tcp.
inline std::string AsInProc(const sockaddr_in& address) {
  return fmt::format("{:08X}:{:04X}", address.sin_addr.s_addr, ntohs(address.sin_port));
}

/// Returns the length of the receive queue of an IPv4 socket in the calling thread's network
/// namespace: for a connection the bytes that its owner has not read, for a listener (`remote` is
/// zero) the connections that its owner has not accepted. Returns nothing if there is no such
/// socket.
inline std::optional<std::uint64_t> ReceiveQueue(const sockaddr_in& local,
                                                 const sockaddr_in& remote) {
  std::ifstream table("/proc/thread-self/net/tcp");
  for (std::string line; std::getline(table, line);) {
    std::istringstream words(line);
    std::string number, from, to, state, queues;
    words >> number >> from >> to >> state >> queues;
    if (from != AsInProc(local) || to != AsInProc(remote)) continue;
    return std::stoull(queues.substr(queues.find(':') + 1), nullptr, 16);
  }
  return std::nullopt;
}

/// Returns how many of the bytes that were sent on the IPv4 connection `fd` the process at the
/// other end has read. That process must be in the calling thread's network namespace.
inline std::uint64_t ReadByPeer(int fd) {
  tcp_info info{};
  sockaddr_in here{}, there{};
  socklen_t info_size = sizeof info, here_size = sizeof here, there_size = sizeof there;
  if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &info_size) != 0 ||
      ::getsockname(fd, reinterpret_cast<sockaddr*>(&here), &here_size) != 0 ||
      ::getpeername(fd, reinterpret_cast<sockaddr*>(&there), &there_size) != 0) {
    return 0;
  }
  const std::optional<std::uint64_t> unread = ReceiveQueue(there, here);
  // The kernel counts the first segment of the handshake as a byte.
  const std::uint64_t arrived = info.tcpi_bytes_acked > 0 ? info.tcpi_bytes_acked - 1 : 0;
  return unread && *unread < arrived ? arrived - *unread : 0;
}

}  // namespace polybox::net::testing
