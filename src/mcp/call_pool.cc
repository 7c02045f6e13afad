#include "mcp/call_pool.h"

#include <utility>

namespace polybox::mcp {

CallPool::~CallPool() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  work_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool CallPool::Submit(std::function<void()> call, Bytes size) {
  {
    const std::lock_guard lock(mutex_);
    const bool full = queue_.size() >= limits_.waiting ||
                      (bytes_ != 0 && bytes_ + size.count() > limits_.messages.count());
    if (full || ending_) return false;
    bytes_ += size.count();
    queue_.push_back({std::move(call), size});
    const bool all_busy = running_ + queue_.size() > threads_.size();
    if (all_busy && threads_.size() < limits_.threads) threads_.emplace_back([this] { Work(); });
  }
  work_.notify_one();
  return true;
}

bool CallPool::AwaitIdle(Duration time) {
  std::unique_lock lock(mutex_);
  return idle_.wait_for(lock, time, [this] { return queue_.empty() && running_ == 0; });
}

void CallPool::Work() {
  std::unique_lock lock(mutex_);
  while (true) {
    work_.wait(lock, [this] { return ending_ || !queue_.empty(); });
    if (queue_.empty()) return;
    Waiting next = std::move(queue_.front());
    queue_.pop_front();
    ++running_;
    lock.unlock();
    next.call();
    // What the call holds is freed before the pool counts as idle.
    next.call = nullptr;
    lock.lock();
    --running_;
    bytes_ -= next.size.count();
    if (running_ == 0 && queue_.empty()) idle_.notify_all();
  }
}

}  // namespace polybox::mcp
