// Writes messages to a descriptor, one per line, from one thread. Senders do not wait for a client
// that reads slowly until much is waiting, so a client may first send many requests and then read.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

#include "base/unique_fd.h"
#include "base/units.h"

namespace polybox::mcp {

class Outbox {
 public:
  struct Options {
    /// Borrowed; must outlive the outbox. Blocking, because its flags are shared with other
    /// processes.
    int fd = -1;
    /// Messages that wait to be written. A sender waits while there are more.
    Bytes waiting = Bytes::MiB(64);
  };

  explicit Outbox(Options options);
  /// Drops what is not written yet: see Finish().
  ~Outbox();
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  /// Queues one message. Any thread.
  void Send(std::string message);
  /// Waits until everything is written, for at most `time`.
  void Finish(Duration time);
  /// Returns a descriptor (borrowed) that is readable when the client has closed its end.
  int client_gone() const { return gone_fd_.get(); }

 private:
  void Work();
  /// Returns false if the client is gone or the outbox ends.
  bool Write(std::string_view text);

  const Options options_;
  /// Readable when the outbox ends, to interrupt a write.
  UniqueFd ending_fd_;
  UniqueFd gone_fd_;
  std::mutex mutex_;
  std::condition_variable changed_;
  // All below are guarded by mutex_.
  std::deque<std::string> queue_;
  std::uint64_t bytes_ = 0;
  bool writing_ = false;
  /// Nothing is written any more.
  bool closed_ = false;
  /// Last, because it uses the members above.
  std::thread thread_;
};

}  // namespace polybox::mcp
