// Bounds the number of sockets by which guests list network interfaces. Used by the slot init on
// its one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "jail/init/step_result.h"

namespace polybox::jail::init {

/// Installs the slot's part of the seccomp filter, and answers the system calls that this part
/// leaves to the slot init.
class RouteSockets {
 public:
  /// Installs `filter` on the slot init; all processes that it makes later inherit the filter.
  /// `directory` (borrowed) is /proc/self/net.
  StepResult Install(const std::string& filter, int directory);
  /// Waits until `socket` can be read, and answers the guests' calls meanwhile. Returns false when
  /// `milliseconds` have passed; -1 is no bound.
  bool AnswerUntilReadable(int socket, int milliseconds);

 private:
  struct OnTheWay {
    std::uint32_t thread;
    std::int64_t since;
  };

  /// Receives the next socket() call of a guest that waits for an answer.
  void TakeRequest();
  /// Answers the call that was taken, or postpones the answer.
  void Decide(std::int64_t now);

  UniqueFd listener_;
  /// Borrowed.
  int directory_ = -1;
  /// One call is taken at a time. These two fields belong to the call that has no answer yet.
  bool is_asked_ = false;
  std::uint64_t request_ = 0;
  std::uint32_t thread_ = 0;
  /// The socket() calls that were allowed to continue and may not have made their socket yet.
  std::vector<OnTheWay> on_the_way_;
  /// When the next call may be taken at the bounded pace. A burst of calls may be early.
  std::int64_t next_ = 0;
  std::int64_t rests_until_ = 0;
};

}  // namespace polybox::jail::init
