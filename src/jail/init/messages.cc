#include "jail/init/messages.h"

#include <array>
#include <cerrno>
#include <unistd.h>

#include <sys/socket.h>

#include "jail/init/envelope.h"

namespace polybox::jail::init {
namespace {

/// Returns whether to call again. The kernel reports ECONNRESET once when the peer has closed its
/// end without reading everything that was sent to it. The peer's own messages can still be read.
bool IsWorthAnotherTry(ssize_t result) {
  return result < 0 && (errno == EINTR || errno == ECONNRESET);
}

/// Returns the length of the next message; 0 when there will be none.
std::size_t NextLength(int socket) {
  ssize_t length = 0;
  do {
    length = ::recv(socket, nullptr, 0, MSG_PEEK | MSG_TRUNC);
  } while (IsWorthAnotherTry(length));
  return length <= 0 ? 0 : static_cast<std::size_t>(length);
}

/// Takes the next message and its descriptors. Returns its length; 0 when there is none, or when it
/// does not fit.
std::size_t TakeNext(int socket, Received& received, std::span<char> room) {
  Envelope envelope(room);
  ssize_t size = 0;
  do {
    size = ::recvmsg(socket, envelope.header(), MSG_CMSG_CLOEXEC);
  } while (IsWorthAnotherTry(size));
  if (size <= 0) return 0;
  envelope.Open([&](std::span<const int> fds) { received.fds = Descriptors(fds); },
                [&](const ucred& sender) { received.sender = sender.pid; });
  return envelope.is_cut() ? 0 : static_cast<std::size_t>(size);
}

}  // namespace

Descriptors& Descriptors::operator=(Descriptors&& other) noexcept {
  if (this == &other) return *this;
  Close();
  fds_ = std::exchange(other.fds_, {});
  return *this;
}

void Descriptors::Close() {
  for (const int fd : fds_) {
    if (fd >= 0) ::close(fd);
  }
  fds_.clear();
}

bool Receive(int socket, Received& received) {
  const std::size_t length = NextLength(socket);
  if (length == 0 || length > kLargestMessage) return false;
  received.bytes.resize(length);
  return TakeNext(socket, received, received.bytes) == length;
}

bool Receive(int socket, Received& received, std::span<char> room) {
  const std::size_t length = TakeNext(socket, received, room);
  received.bytes.assign(room.data(), length);
  return length > 0;
}

bool ReceiveShort(int socket, Received& received) {
  std::array<char, 1024> room;  // NOLINT(cppcoreguidelines-pro-type-member-init): written first
  return Receive(socket, received, room);
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
