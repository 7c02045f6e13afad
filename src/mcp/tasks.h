// Calls that go on after their request was answered with a handle. A task belongs to its principal:
// for all others it does not exist. Its result is kept until its time to live is over. Any thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "json/value.h"
#include "mcp/json_rpc.h"
#include "tools/client.h"

namespace polybox::mcp {

enum class TaskStatus { kWorking, kInputRequired, kCompleted, kFailed, kCancelled };

std::string_view NameOf(TaskStatus status);

constexpr bool IsFinal(TaskStatus status) {
  return status >= TaskStatus::kCompleted;
}

struct TaskLimits {
  /// Tasks of one principal that run at once. Each holds a thread of the pool, and calls without a
  /// task need threads too.
  std::size_t running = 8;
  /// Tasks of one principal whose status can be asked for.
  std::size_t kept = 64;
  /// All tasks that run at once, whoever asked for them: half of the threads of the pool.
  std::size_t running_in_all = 16;
  /// The results of all tasks. More than a few hundred of the longest answers.
  Bytes results = Bytes::MiB(64);
  /// How long a task is kept after its creation if the client does not say.
  Duration lifetime = std::chrono::hours(1);
  Duration longest_lifetime = std::chrono::hours(24);
  /// A result can be fetched for this time, however long the task has run.
  Duration after_end = std::chrono::minutes(10);
};

/// What a client may know of a task.
struct TaskState {
  TaskStatus status = TaskStatus::kWorking;
  std::string message = {};
  std::chrono::system_clock::time_point updated;
  /// The questions that have no answer yet, in their order.
  std::vector<tools::Question> questions = {};
  /// Set for kCompleted and kFailed.
  std::optional<Outcome> outcome = {};
};

class Task {
 public:
  Task(std::string id, std::string principal, Duration lifetime, std::stop_source stop);

  const std::string& id() const { return id_; }
  const std::string& principal() const { return principal_; }
  Duration lifetime() const { return lifetime_; }
  std::chrono::system_clock::time_point created() const { return created_; }
  TaskState state() const;
  bool HasEnded() const;
  /// Returns whether nobody may ask for the result any more.
  bool ExpiredAt(std::chrono::system_clock::time_point now, Duration after_end) const;
  /// The length of the result, 0 before the end.
  std::uint64_t size() const;

  /// Ends the task, unless it was cancelled. Calls all who wait.
  void Finish(Outcome outcome);
  /// Returns false if the task has ended.
  bool Cancel();
  void SetMessage(std::string message);
  /// Shows the questions to the client and waits for all answers. Fails when the task is cancelled.
  Result<json::Object> Ask(const std::vector<tools::Question>& questions);
  /// Takes answers by their keys. Keys of no open question are ignored.
  void Answer(const json::Object& answers);
  /// Calls `done` once, when the task has ended: now, or on the thread that ends it. Returns a
  /// number for StopWaiting().
  std::uint64_t OnEnd(std::function<void()> done);
  void StopWaiting(std::uint64_t number);

 private:
  /// Needs the lock.
  void Become(TaskStatus status);
  /// Wakes all who wait for the end. Without the lock.
  void TellEnd();

  const std::string id_;
  const std::string principal_;
  const Duration lifetime_;
  const std::chrono::system_clock::time_point created_ = std::chrono::system_clock::now();
  std::stop_source stop_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  // All below are guarded by `mutex_`.
  TaskState state_;
  std::uint64_t size_ = 0;
  json::Object answers_;
  std::map<std::uint64_t, std::function<void()>> waiting_;
  std::uint64_t last_number_ = 0;
};

class Tasks {
 public:
  explicit Tasks(TaskLimits limits = {}) : limits_(limits) {}
  Tasks(const Tasks&) = delete;
  Tasks& operator=(const Tasks&) = delete;

  const TaskLimits& limits() const { return limits_; }
  /// Makes a task. `stop` is requested when the task is cancelled. Fails beyond the limits.
  Result<std::shared_ptr<Task>> Create(const std::string& principal,
                                       std::optional<Duration> lifetime, std::stop_source stop);
  /// The error says whether the task has expired.
  Result<std::shared_ptr<Task>> Find(std::string_view principal, std::string_view id);
  /// Returns the tasks of a principal, the newest first.
  std::vector<std::shared_ptr<Task>> List(std::string_view principal);
  /// Cancels every task, at the end of the server.
  void CancelAll();

 private:
  // Both need the lock.
  Status Admit(const std::string& principal) const;
  void RemoveExpired();

  const TaskLimits limits_;
  std::mutex mutex_;
  // All below are guarded by `mutex_`.
  /// In the order of their creation.
  std::vector<std::shared_ptr<Task>> tasks_;
  struct Expired {
    std::string principal;
    std::string id;
  };
  std::deque<Expired> expired_;
};

}  // namespace polybox::mcp
