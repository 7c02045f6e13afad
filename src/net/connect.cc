#include "net/connect.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <netdb.h>
#include <poll.h>

#include <netinet/tcp.h>

namespace polybox::net {

std::vector<Address> Resolve(const HostPort& target) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = target.is_address ? AI_NUMERICHOST : AI_ADDRCONFIG;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(target.port);
  if (::getaddrinfo(target.host.c_str(), port.c_str(), &hints, &found) != 0) return {};
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned(found, ::freeaddrinfo);
  std::vector<Address> addresses;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    Address address;
    if (one->ai_addrlen > sizeof address.storage) continue;
    std::memcpy(&address.storage, one->ai_addr, one->ai_addrlen);
    address.length = one->ai_addrlen;
    addresses.push_back(address);
  }
  return addresses;
}

bool AwaitSocket(int fd, short events, const Patience& patience) {
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(
        patience.deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    std::array<pollfd, 2> polled = {pollfd{fd, events, 0}, pollfd{patience.stop, POLLIN, 0}};
    const int ready = ::poll(polled.data(), polled.size(), static_cast<int>(left.count()));
    if (ready < 0 && errno == EINTR) continue;
    return ready > 0 && polled[1].revents == 0;
  }
}

void BoundBuffers(int fd) {
  // The size for each direction. Enough for 20 Mbit/s at 100 ms; the kernel would otherwise let the
  // buffers grow to several MiB.
  const int bytes = 256 * 1024;
  ::setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
  ::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
}

Result<UniqueFd> Connect(const Address& address, const Patience& patience) {
  UniqueFd fd(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return Error::FromErrno("make a socket");
  // Before connecting, because the advertised window depends on the buffer size.
  BoundBuffers(fd.get());
  // Without this, the small messages of a handshake would be delayed (Nagle's algorithm).
  const int on = 1;
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (::connect(fd.get(), address.get(), address.length) == 0) return fd;
  if (errno != EINPROGRESS) return Error::FromErrno("connect");
  if (!AwaitSocket(fd.get(), POLLOUT, patience)) return Error::FromErrno("connect", ETIMEDOUT);
  int error = 0;
  socklen_t length = sizeof error;
  ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &length);
  if (error != 0) return Error::FromErrno("connect", error);
  return fd;
}

Result<UniqueFd> ConnectToAny(std::span<const Address> addresses, const Patience& patience) {
  constexpr std::size_t kMost = 8;
  addresses = addresses.first(std::min(addresses.size(), kMost));
  Result<UniqueFd> connected = Error(ErrorKind::kUnavailable, "no address is known for it");
  for (; !addresses.empty(); addresses = addresses.subspan(1)) {
    const auto now = std::chrono::steady_clock::now();
    const auto share = (patience.deadline - now) / static_cast<int>(addresses.size());
    connected = Connect(addresses.front(), {now + share, patience.stop});
    if (connected.ok()) break;
  }
  return connected;
}

bool SendAll(int fd, std::string_view bytes, const Patience& patience) {
  while (!bytes.empty()) {
    const ssize_t count = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno == EAGAIN) {
      if (!AwaitSocket(fd, POLLOUT, patience)) return false;
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

std::string ReadHeader(int fd, Bytes largest, const Patience& patience, std::string& rest) {
  std::string text;
  std::array<char, 4096> buffer;
  while (text.size() < largest.count()) {
    const std::size_t room = largest.count() - text.size();
    const ssize_t count = ::recv(fd, buffer.data(), std::min(room, buffer.size()), 0);
    if (count == 0) return "";
    if (count < 0 && errno != EAGAIN && errno != EINTR) return "";
    if (count < 0) {
      if (!AwaitSocket(fd, POLLIN, patience)) return "";
      continue;
    }
    text.append(buffer.data(), static_cast<std::size_t>(count));
    const std::size_t end = text.find("\r\n\r\n");
    if (end == std::string::npos) continue;
    rest = text.substr(end + 4);
    text.resize(end + 4);
    return text;
  }
  return "";
}

}  // namespace polybox::net
