// Threads that run the calls of tools, and a bounded queue in front of them. Threads are started
// when the first calls come, so that a server without calls has none. Any thread.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "base/units.h"

namespace polybox::mcp {

struct CallLimits {
  /// Calls that run at once. A thread mostly waits for a command or for the disk. An agent that
  /// waits for ten commands must still be able to read a file.
  std::size_t threads = 32;
  /// Calls that wait for a thread. Clients send a few at once; more is a defect or an attack.
  std::size_t waiting = 256;
  /// The length of the messages of all calls that run or wait. A single message is taken whatever
  /// its length.
  Bytes messages = Bytes::MiB(64);
};

class CallPool {
 public:
  explicit CallPool(const CallLimits& limits) : limits_(limits) {}
  /// Waits until all calls have ended: see AwaitIdle().
  ~CallPool();
  CallPool(const CallPool&) = delete;
  CallPool& operator=(const CallPool&) = delete;

  /// Runs `call` on a thread of the pool. Returns false, and drops the call, if too many wait.
  /// `size` is the length of the call's message.
  bool Submit(std::function<void()> call, Bytes size);
  /// Returns whether no call runs or waits, after waiting for that state for at most `time`.
  bool AwaitIdle(Duration time);

 private:
  struct Waiting {
    std::function<void()> call;
    Bytes size;
  };

  void Work();

  const CallLimits limits_;
  std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable idle_;
  // All below are guarded by mutex_.
  std::deque<Waiting> queue_;
  std::vector<std::thread> threads_;
  std::size_t running_ = 0;
  std::uint64_t bytes_ = 0;
  bool ending_ = false;
};

}  // namespace polybox::mcp
