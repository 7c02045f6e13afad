#include "sys/server_number.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <random>

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>

namespace polybox::sys {
namespace {

/// Binds a socket with an abstract name. Returns an invalid descriptor and sets errno when the name
/// is taken.
UniqueFd Claim(unsigned number) {
  UniqueFd fd(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return fd;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  // A first byte of 0 makes the name abstract.
  const std::string name = fmt::format("polybox-server-{}", number);
  std::ranges::copy(name, address.sun_path + 1);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0) return UniqueFd();
  return fd;
}

}  // namespace

ServerNumber::ServerNumber(unsigned count) {
  // Any process may take these names, so the number of tries is limited.
  constexpr int kTries = 256;
  std::random_device chance;
  std::uniform_int_distribution<unsigned> numbers(0, count - 1);
  for (int i = 0; i < kTries; ++i) {
    value_ = numbers(chance);
    claim_ = Claim(value_);
    if (claim_.valid() || errno != EADDRINUSE) return;
  }
}

}  // namespace polybox::sys
