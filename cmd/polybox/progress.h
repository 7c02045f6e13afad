// Shows on a terminal what the user waits for, in one line. The line appears after half a second,
// is repainted each second, and is erased before other output. Shows nothing if standard error is
// no terminal, or one that cannot repaint a line (TERM=dumb). Any thread may call it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "terminal.h"

namespace polybox::cmd {

class Progress {
 public:
  /// `terminal` is borrowed. The repaint thread starts with the first Begin().
  explicit Progress(const Terminal& terminal) : terminal_(terminal) {}
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();

  /// From now on the line shows `what` instead of the previous text.
  void Begin(const std::string& what);
  /// Erases the line. Nothing is shown until the next Begin().
  void End();

 private:
  using Clock = std::chrono::steady_clock;

  void Repaint(const std::stop_token& stop);
  /// The caller of these functions must hold mutex_.
  void Paint();
  void Erase();

  const Terminal& terminal_;
  // Guards all members below.
  std::mutex mutex_;
  std::condition_variable_any changed_;
  /// "" when the user waits for nothing.
  std::string what_;
  Clock::time_point since_;
  /// The width of the shown line in columns; 0 when none is shown.
  std::size_t shown_ = 0;
  std::jthread thread_;
};

}  // namespace polybox::cmd
