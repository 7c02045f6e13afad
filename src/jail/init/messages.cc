#include "jail/init/messages.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <unistd.h>

#include <sys/socket.h>

#include "jail/init/protocol.h"

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
  iovec content = {received.bytes.data(), received.bytes.size()};
  alignas(cmsghdr)
      std::array<char, CMSG_SPACE(kMostDescriptors * sizeof(int)) + CMSG_SPACE(sizeof(ucred))>
          control{};
  msghdr header{};
  header.msg_iov = &content;
  header.msg_iovlen = 1;
  header.msg_control = control.data();
  header.msg_controllen = control.size();
  ssize_t size = 0;
  do {
    size = ::recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
  } while (IsWorthAnotherTry(size));
  for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr; part = CMSG_NXTHDR(&header, part)) {
    if (part->cmsg_level != SOL_SOCKET) continue;
    if (part->cmsg_type == SCM_CREDENTIALS) {
      ucred sender{};
      std::memcpy(&sender, CMSG_DATA(part), sizeof sender);
      received.sender = sender.pid;
    }
    if (part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    received.fds.resize(count);
    std::memcpy(received.fds.data(), CMSG_DATA(part), count * sizeof(int));
  }
  return size == static_cast<ssize_t>(length) && (header.msg_flags & MSG_CTRUNC) == 0;
}

bool Send(int socket, std::string_view bytes, const std::vector<int>& fds) {
  iovec content = {const_cast<char*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMostDescriptors * sizeof(int))> control{};
  msghdr header{};
  header.msg_iov = &content;
  header.msg_iovlen = 1;
  if (!fds.empty()) {
    header.msg_control = control.data();
    header.msg_controllen = CMSG_SPACE(fds.size() * sizeof(int));
    cmsghdr* part = CMSG_FIRSTHDR(&header);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
    std::memcpy(CMSG_DATA(part), fds.data(), fds.size() * sizeof(int));
  }
  ssize_t size = 0;
  do {
    size = ::sendmsg(socket, &header, MSG_NOSIGNAL);
  } while (size < 0 && errno == EINTR);
  return size == static_cast<ssize_t>(bytes.size());
}

}  // namespace polybox::jail::init
