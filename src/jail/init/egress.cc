#include <cerrno>
#include <cstring>
#include <unistd.h>

#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "jail/init/slot.h"

namespace polybox::jail::init {
namespace {

// Waiting connections; the proxy takes them at once.
constexpr int kBacklog = 64;

int RaiseLoopback(int socket) {
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

int ListenForEgress(int& listener) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno;
  int error = RaiseLoopback(fd);
  if (error == 0) error = ListenOn(fd);
  if (error == 0) {
    listener = fd;
  } else {
    ::close(fd);
  }
  return error;
}

}  // namespace polybox::jail::init
