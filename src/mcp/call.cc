#include "mcp/call.h"

#include <utility>

namespace polybox::mcp {

std::optional<Reply> Call::End() {
  const std::lock_guard lock(mutex_);
  if (std::exchange(over_, true)) return std::nullopt;
  return std::exchange(reply_, nullptr);
}

bool Call::Answer(json::Object answer) {
  const std::optional<Reply> reply = End();
  if (reply) (*reply)(std::move(answer));
  return reply.has_value();
}

void Call::Cancel() {
  const std::optional<Reply> reply = End();
  if (!reply) return;
  stop_.request_stop();
  std::function<void()> free;
  {
    const std::lock_guard lock(mutex_);
    free = std::exchange(free_, nullptr);
  }
  if (free) free();
  (*reply)(std::nullopt);
}

void Call::WhileOpen(const std::function<void()>& send) {
  const std::lock_guard lock(mutex_);
  if (!over_) send();
}

bool Call::Grows(double progress) {
  const std::lock_guard lock(mutex_);
  if (over_ || (progress_ && progress <= *progress_)) return false;
  progress_ = progress;
  return true;
}

void Call::OnCancel(std::function<void()> free) {
  {
    const std::lock_guard lock(mutex_);
    if (!over_) {
      free_ = std::move(free);
      return;
    }
  }
  free();
}

}  // namespace polybox::mcp
