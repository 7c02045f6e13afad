// The arguments of sendmsg() and recvmsg(): one buffer, and the descriptors and credentials beside
// it. It does not allocate, so that processes that share memory may use it too (raw.h).
#pragma once

#include <array>
#include <cstring>
#include <span>
#include <string_view>

#include <sys/socket.h>
#include <sys/types.h>

#include "jail/init/protocol.h"

namespace polybox::jail::init {

class Envelope {
 public:
  /// For receiving into `room`, which must outlive the envelope.
  explicit Envelope(std::span<char> room) : Envelope(room.data(), room.size()) {
    header_.msg_control = control_.data();
    header_.msg_controllen = control_.size();
  }
  /// For sending; `bytes` must outlive the envelope.
  Envelope(std::string_view bytes, std::span<const int> fds)
      : Envelope(const_cast<char*>(bytes.data()), bytes.size()) {
    if (fds.empty()) return;
    header_.msg_control = control_.data();
    header_.msg_controllen = CMSG_SPACE(fds.size_bytes());
    cmsghdr* part = CMSG_FIRSTHDR(&header_);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(fds.size_bytes());
    std::memcpy(CMSG_DATA(part), fds.data(), fds.size_bytes());
  }
  Envelope(const Envelope&) = delete;
  Envelope& operator=(const Envelope&) = delete;

  msghdr* header() { return &header_; }

  // The following functions are valid after a message was received.

  /// Whether bytes or descriptors were lost.
  bool is_cut() const { return (header_.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0; }
  /// Visits what was received: descriptors as a span, the sender's credentials as a ucred.
  template <typename TakeDescriptors, typename TakeSender>
  void Open(TakeDescriptors take_descriptors, TakeSender take_sender) {
    for (cmsghdr* part = CMSG_FIRSTHDR(&header_); part != nullptr;
         part = CMSG_NXTHDR(&header_, part)) {
      if (part->cmsg_level != SOL_SOCKET) continue;
      if (part->cmsg_type == SCM_CREDENTIALS) {
        ucred sender{};
        std::memcpy(&sender, CMSG_DATA(part), sizeof sender);
        take_sender(sender);
      }
      if (part->cmsg_type != SCM_RIGHTS) continue;
      const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
      std::array<int, kMostDescriptors> fds{};
      std::memcpy(fds.data(), CMSG_DATA(part), count * sizeof(int));
      take_descriptors(std::span<const int>(fds).first(count));
    }
  }

 private:
  Envelope(char* content, std::size_t size) : content_{content, size} {
    header_.msg_iov = &content_;
    header_.msg_iovlen = 1;
  }

  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMostDescriptors * sizeof(int)) +
                                        CMSG_SPACE(sizeof(ucred))> control_{};
  iovec content_;
  msghdr header_{};
};

}  // namespace polybox::jail::init
