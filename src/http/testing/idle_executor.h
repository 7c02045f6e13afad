// A fake executor for tests of the server's start and end. A submitted request runs until it is
// cancelled or the test answers it.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>

#include "exec/engine.h"

namespace polybox::http::testing {

class IdleExecutor : public exec::Executor {
 public:
  std::shared_ptr<exec::Ticket> Submit(exec::Request /*request*/, Done done) override {
    const std::lock_guard lock(mutex_);
    running_[++last_] = std::move(done);
    return std::make_shared<OneTicket>(*this, last_);
  }
  exec::LaneLoad Load(std::size_t /*lane*/) const override {
    const std::lock_guard lock(mutex_);
    return {.running = static_cast<std::int64_t>(running_.size()), .queued = 3};
  }
  void Drain() override { draining = true; }
  bool AwaitIdle(Duration time) override {
    std::unique_lock lock(mutex_);
    return ended_.wait_for(lock, time, [this] { return running_.empty(); });
  }
  void CancelAll() override {
    cancelled = true;
    while (Answer(exec::Refusal{.kind = exec::RefusalKind::kCancelled, .message = ""})) {
    }
  }

  /// Answers the oldest request. Returns false when no request runs.
  bool Answer(exec::Answer answer) {
    Done done;
    {
      const std::lock_guard lock(mutex_);
      if (running_.empty()) return false;
      done = std::move(running_.begin()->second);
    }
    done(std::move(answer));
    const std::lock_guard lock(mutex_);
    running_.erase(running_.begin());
    ended_.notify_all();
    return true;
  }

  std::atomic<bool> draining = false;
  std::atomic<bool> cancelled = false;

 private:
  class OneTicket : public exec::Ticket {
   public:
    OneTicket(IdleExecutor& executor, int number) : executor_(executor), number_(number) {}
    void Cancel() override { executor_.Cancel(number_); }

   private:
    IdleExecutor& executor_;
    int number_;
  };

  void Cancel(int number) {
    Done done;
    {
      const std::lock_guard lock(mutex_);
      const auto found = running_.find(number);
      if (found == running_.end()) return;
      done = std::move(found->second);
      running_.erase(found);
      ended_.notify_all();
    }
    done(exec::Refusal{.kind = exec::RefusalKind::kCancelled, .message = ""});
  }

  mutable std::mutex mutex_;
  std::condition_variable ended_;
  std::map<int, Done> running_;
  int last_ = 0;
};

}  // namespace polybox::http::testing
