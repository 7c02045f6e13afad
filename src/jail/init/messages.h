// Sending and receiving messages with descriptors over a SEQPACKET socket. Used by both sides; any
// thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace polybox::jail::init {

/// A received message and the descriptors that came with it, which are closed with it.
struct Received {
  std::string bytes;
  std::vector<int> fds;
  /// Who sent it, where the socket was asked to tell (SO_PASSCRED); else -1.
  pid_t sender = -1;

  Received() = default;
  Received(const Received&) = delete;
  Received& operator=(const Received&) = delete;
  ~Received();
};

/// One message from `socket`. False when the other side is gone, or sent what cannot be one of
/// ours.
bool Receive(int socket, Received& received);
/// The same in half the time, for a message that fits into `room`.
bool Receive(int socket, Received& received, std::span<char> room);
/// And for one that tells how a guest, a pod or a step fares.
bool ReceiveShort(int socket, Received& received);
/// False when it could not be sent. The descriptors stay the caller's.
bool Send(int socket, std::string_view bytes, const std::vector<int>& fds = {});

}  // namespace polybox::jail::init
