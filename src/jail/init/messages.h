// Sends and receives messages with descriptors over a SEQPACKET socket. Used by the server, the
// slot init and the warm library, on any thread. Processes that share memory use raw_messages.h
// instead.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "base/unique_fd.h"

namespace polybox::jail::init {

/// Owns the descriptors that came with a message, in the order in which they were sent. All are
/// close-on-exec. Not a vector of UniqueFd: many functions take a span of borrowed numbers.
class Descriptors {
 public:
  Descriptors() = default;
  explicit Descriptors(std::span<const int> fds) : fds_(fds.begin(), fds.end()) {}
  Descriptors(Descriptors&& other) noexcept : fds_(std::exchange(other.fds_, {})) {}
  Descriptors& operator=(Descriptors&& other) noexcept;
  Descriptors(const Descriptors&) = delete;
  Descriptors& operator=(const Descriptors&) = delete;
  ~Descriptors() { Close(); }

  std::size_t size() const { return fds_.size(); }
  bool empty() const { return fds_.empty(); }
  /// Borrowed; -1 for a descriptor that was taken.
  int operator[](std::size_t index) const { return fds_[index]; }
  /// Borrowed, until this object is changed.
  std::span<const int> all() const { return fds_; }
  /// Gives up one descriptor.
  UniqueFd Take(std::size_t index) { return UniqueFd(std::exchange(fds_[index], -1)); }
  /// Closes all descriptors that were not taken.
  void Close();

 private:
  std::vector<int> fds_;
};

struct Received {
  std::string bytes;
  Descriptors fds;
  /// The PID of the sender, if the socket has SO_PASSCRED; else -1.
  pid_t sender = -1;
};

/// Waits for one message from `socket`. Returns false when the peer has closed its end, or has sent
/// what no message can be.
bool Receive(int socket, Received& received);
/// The same for a message that fits into `room`; it takes half the time.
bool Receive(int socket, Received& received, std::span<char> room);
/// The same for a message of at most 1024 bytes, such as a report about a guest, a cell or a step.
bool ReceiveShort(int socket, Received& received);
/// Returns false when the message could not be sent. The descriptors stay the caller's.
bool Send(int socket, std::string_view bytes, const std::vector<int>& fds = {});

}  // namespace polybox::jail::init
