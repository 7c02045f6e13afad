#include "jail/init/messages.h"

#include <cerrno>
#include <unistd.h>

#include <sys/socket.h>

#include "jail/init/envelope.h"

namespace polybox::jail::init {
namespace {

/// ECONNRESET says, once, that the other side has gone without reading all that we sent; what it
/// said itself is still to be read.
bool IsWorthAnotherTry(ssize_t result) {
  return result < 0 && (errno == EINTR || errno == ECONNRESET);
}

/// The length of the next message, 0 when there will be none.
std::size_t NextLength(int socket) {
  ssize_t length = 0;
  do {
    length = ::recv(socket, nullptr, 0, MSG_PEEK | MSG_TRUNC);
  } while (IsWorthAnotherTry(length));
  return length <= 0 ? 0 : static_cast<std::size_t>(length);
}

}  // namespace

Received::~Received() {
  for (const int fd : fds) ::close(fd);
}

bool Receive(int socket, Received& received) {
  const std::size_t length = NextLength(socket);
  if (length == 0 || length > kLargestMessage) return false;
  received.bytes.resize(length);
  Envelope envelope(received.bytes);
  ssize_t size = 0;
  do {
    size = ::recvmsg(socket, envelope.header(), MSG_CMSG_CLOEXEC);
  } while (IsWorthAnotherTry(size));
  envelope.Open([&](std::span<const int> fds) { received.fds.assign(fds.begin(), fds.end()); },
                [&](const ucred& sender) { received.sender = sender.pid; });
  return size == static_cast<ssize_t>(length) && !envelope.is_cut();
}

bool Send(int socket, std::string_view bytes, const std::vector<int>& fds) {
  Envelope envelope(bytes, fds);
  ssize_t size = 0;
  do {
    size = ::sendmsg(socket, envelope.header(), MSG_NOSIGNAL);
  } while (size < 0 && errno == EINTR);
  return size == static_cast<ssize_t>(bytes.size());
}

}  // namespace polybox::jail::init
