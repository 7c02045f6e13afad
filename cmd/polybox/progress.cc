#include "progress.h"

#include <algorithm>
#include <unistd.h>

#include <fmt/format.h>
#include <sys/ioctl.h>

#include "base/printable.h"

namespace polybox::cmd {
namespace {

/// A shorter wait needs no message.
constexpr auto kPatience = std::chrono::milliseconds(500);
constexpr auto kInterval = std::chrono::seconds(1);

/// Returns the width of the terminal. A line wider than the terminal could not be erased.
std::size_t Columns() {
  constexpr std::size_t kUsual = 80;
  winsize size{};
  const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : kUsual;
}

}  // namespace

Progress::~Progress() {
  End();
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
}

void Progress::Begin(const std::string& what) {
  if (!terminal_.repaints()) return;
  {
    const std::lock_guard lock(mutex_);
    Erase();
    what_ = what;
    since_ = Clock::now();
    if (!thread_.joinable()) {
      thread_ = std::jthread([this](const std::stop_token& stop) { Repaint(stop); });
    }
  }
  changed_.notify_all();
}

void Progress::End() {
  const std::lock_guard lock(mutex_);
  Erase();
  what_.clear();
}

// The body of thread_. Sleeps until the text changes or the next repaint is due.
void Progress::Repaint(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    if (what_.empty()) {
      changed_.wait(lock, stop, [this] { return !what_.empty(); });
      continue;
    }
    const auto since = since_;
    const auto waited = Clock::now() - since;
    const auto next = since + (waited < kPatience ? kPatience : waited + kInterval);
    changed_.wait_until(lock, stop, next, [&] { return what_.empty() || since_ != since; });
    if (!what_.empty() && since_ == since && Clock::now() >= since + kPatience) Paint();
  }
}

void Progress::Paint() {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - since_);
  const std::size_t room = std::max<std::size_t>(Columns(), 20) - 1;
  const std::string line =
      Printable(fmt::format("polybox: {}s, {}", seconds.count(), what_), room - 3);
  Erase();
  terminal_.Print(line);
  // A line has at least as many bytes as columns, so this many blanks erase it.
  shown_ = std::min(line.size(), room);
}

void Progress::Erase() {
  if (shown_ > 0) terminal_.Print("\r" + std::string(shown_, ' ') + "\r");
  shown_ = 0;
}

}  // namespace polybox::cmd
