#include "jail/init/egress.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "jail/init/protocol.h"

namespace polybox::jail::init {
namespace {

// Waiting connections; the proxy takes them at once.
constexpr int kBacklog = 64;

int RaiseBy(int socket) {
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  if (::ioctl(socket, SIOCGIFFLAGS, &request) != 0) return errno;
  request.ifr_flags |= IFF_UP;
  return ::ioctl(socket, SIOCSIFFLAGS, &request) == 0 ? 0 : errno;
}

int ListenOn(int socket) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(kEgressPort);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return errno;
  }
  return ::listen(socket, kBacklog) == 0 ? 0 : errno;
}

}  // namespace

int RaiseLoopback() {
  const UniqueFd fd(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  return fd.valid() ? RaiseBy(fd.get()) : errno;
}

int ListenForEgress(UniqueFd& listener) {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd.valid()) return errno;
  if (const int error = RaiseBy(fd.get())) return error;
  if (const int error = ListenOn(fd.get())) return error;
  listener = std::move(fd);
  return 0;
}

}  // namespace polybox::jail::init
