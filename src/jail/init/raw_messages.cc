#include "jail/init/raw_messages.h"

#include <algorithm>
#include <cerrno>

#include "jail/init/envelope.h"
#include "jail/init/raw.h"

namespace polybox::jail::init {

bool SendRaw(int socket, std::string_view bytes, std::span<const int> fds) {
  Envelope envelope(bytes, fds);
  long size = 0;
  do {
    size = Raw(SYS_sendmsg, socket, envelope.header(), MSG_NOSIGNAL);
  } while (size == -EINTR);
  return size == static_cast<long>(bytes.size());
}

std::size_t ReceiveRaw(int socket, std::span<char> room, std::span<int> fds, std::size_t& count) {
  Envelope envelope(room);
  long size = 0;
  do {
    size = Raw(SYS_recvmsg, socket, envelope.header(), MSG_CMSG_CLOEXEC);
  } while (size == -EINTR);
  count = 0;
  envelope.Open(
      [&](std::span<const int> came) {
        count = came.size();
        if (count <= fds.size()) std::ranges::copy(came, fds.begin());
      },
      [](const ucred&) {});
  const bool whole = size > 0 && count <= fds.size() && !envelope.is_cut();
  return whole ? static_cast<std::size_t>(size) : 0;
}

}  // namespace polybox::jail::init
