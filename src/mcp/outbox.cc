#include "mcp/outbox.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <poll.h>
#include <unistd.h>
#include <utility>

#include <sys/eventfd.h>

namespace polybox::mcp {

Outbox::Outbox(Options options)
    : options_(options),
      ending_fd_(::eventfd(0, EFD_CLOEXEC)),
      gone_fd_(::eventfd(0, EFD_CLOEXEC)),
      thread_([this] { Work(); }) {}

Outbox::~Outbox() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  changed_.notify_all();
  ::eventfd_write(ending_fd_.get(), 1);
  thread_.join();
}

void Outbox::Send(std::string message) {
  message += '\n';
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] {
    return closed_ || bytes_ == 0 || bytes_ + message.size() <= options_.waiting.count();
  });
  if (closed_) return;
  bytes_ += message.size();
  queue_.push_back(std::move(message));
  changed_.notify_all();
}

void Outbox::Finish(Duration time) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, time, [this] { return closed_ || (queue_.empty() && !writing_); });
}

void Outbox::Work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return closed_ || !queue_.empty(); });
    if (closed_) return;
    const std::string message = std::move(queue_.front());
    queue_.pop_front();
    writing_ = true;
    lock.unlock();
    const bool written = Write(message);
    lock.lock();
    writing_ = false;
    bytes_ -= message.size();
    if (!written) closed_ = true;
    changed_.notify_all();
    if (!written) ::eventfd_write(gone_fd_.get(), 1);
  }
}

bool Outbox::Write(std::string_view text) {
  while (!text.empty()) {
    pollfd waiting[] = {{options_.fd, POLLOUT, 0}, {ending_fd_.get(), POLLIN, 0}};
    if (::poll(waiting, 2, -1) < 0) {
      if (errno == EINTR) continue;
      return false;
    }
    if (waiting[1].revents != 0) return false;
    // A pipe that is ready takes this much without blocking.
    const ssize_t count =
        ::write(options_.fd, text.data(), std::min<std::size_t>(text.size(), PIPE_BUF));
    if (count < 0 && errno != EINTR && errno != EAGAIN) return false;
    if (count > 0) text.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace polybox::mcp
