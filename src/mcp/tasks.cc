#include "mcp/tasks.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/printable.h"
#include "base/uuid.h"
#include "json/write.h"

namespace polybox::mcp {
namespace {

/// Handles whose expiry is remembered, for a message that says so.
constexpr std::size_t kMostExpired = 4096;
constexpr std::size_t kShownId = 80;
constexpr std::size_t kLongestMessage = 400;

std::uint64_t SizeOf(const TaskState& state) {
  const auto* result = state.outcome ? std::get_if<json::Object>(&*state.outcome) : nullptr;
  return result == nullptr ? 0 : json::Write(*result).size();
}

}  // namespace

std::string_view NameOf(TaskStatus status) {
  switch (status) {
    case TaskStatus::kWorking:
      return "working";
    case TaskStatus::kInputRequired:
      return "input_required";
    case TaskStatus::kCompleted:
      return "completed";
    case TaskStatus::kFailed:
      return "failed";
    case TaskStatus::kCancelled:
      break;
  }
  return "cancelled";
}

Task::Task(std::string id, std::string principal, Duration lifetime, std::stop_source stop)
    : id_(std::move(id)),
      principal_(std::move(principal)),
      lifetime_(lifetime),
      stop_(std::move(stop)) {
  state_.updated = created_;
}

TaskState Task::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

bool Task::ExpiredAt(std::chrono::system_clock::time_point now, Duration after_end) const {
  const std::lock_guard lock(mutex_);
  return IsFinal(state_.status) && now > created_ + lifetime_ && now > state_.updated + after_end;
}

bool Task::HasEnded() const {
  const std::lock_guard lock(mutex_);
  return IsFinal(state_.status);
}

std::uint64_t Task::size() const {
  const std::lock_guard lock(mutex_);
  return size_;
}

void Task::Become(TaskStatus status) {
  state_.status = status;
  state_.updated = std::chrono::system_clock::now();
}

void Task::TellEnd() {
  std::map<std::uint64_t, std::function<void()>> waiting;
  {
    const std::lock_guard lock(mutex_);
    waiting.swap(waiting_);
  }
  changed_.notify_all();
  for (const auto& [number, done] : waiting) done();
}

void Task::Finish(Outcome outcome) {
  {
    const std::lock_guard lock(mutex_);
    if (IsFinal(state_.status)) return;
    const auto* error = std::get_if<RpcError>(&outcome);
    Become(error == nullptr ? TaskStatus::kCompleted : TaskStatus::kFailed);
    state_.message = error == nullptr ? "" : error->message;
    state_.outcome = std::move(outcome);
    size_ = SizeOf(state_);
  }
  TellEnd();
}

bool Task::Cancel() {
  {
    const std::lock_guard lock(mutex_);
    if (IsFinal(state_.status)) return false;
    Become(TaskStatus::kCancelled);
    state_.message = "the client cancelled the task";
    state_.questions.clear();
  }
  stop_.request_stop();
  TellEnd();
  return true;
}

void Task::SetMessage(std::string message) {
  const std::lock_guard lock(mutex_);
  if (!IsFinal(state_.status)) state_.message = Printable(message, kLongestMessage);
}

Result<json::Object> Task::Ask(const std::vector<tools::Question>& questions) {
  std::unique_lock lock(mutex_);
  if (!IsFinal(state_.status)) {
    state_.questions = questions;
    answers_.clear();
    Become(TaskStatus::kInputRequired);
  }
  changed_.wait(lock, [this] { return state_.status != TaskStatus::kInputRequired; });
  if (IsFinal(state_.status)) return Error(ErrorKind::kUnavailable, "the task was cancelled");
  return std::exchange(answers_, {});
}

void Task::Answer(const json::Object& answers) {
  {
    const std::lock_guard lock(mutex_);
    if (state_.status != TaskStatus::kInputRequired) return;
    std::erase_if(state_.questions, [&](const tools::Question& question) {
      const json::Value* answer = answers.if_contains(question.key);
      if (answer == nullptr || !answer->is_object()) return false;
      answers_[question.key] = *answer;
      return true;
    });
    Become(state_.questions.empty() ? TaskStatus::kWorking : TaskStatus::kInputRequired);
  }
  changed_.notify_all();
}

std::uint64_t Task::OnEnd(std::function<void()> done) {
  {
    const std::lock_guard lock(mutex_);
    if (!IsFinal(state_.status)) {
      waiting_[++last_number_] = std::move(done);
      return last_number_;
    }
  }
  done();
  return 0;
}

void Task::StopWaiting(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  waiting_.erase(number);
}

Status Tasks::Admit(const std::string& principal) const {
  std::size_t running = 0;
  std::size_t own_running = 0;
  std::size_t own = 0;
  std::uint64_t results = 0;
  for (const std::shared_ptr<Task>& task : tasks_) {
    const bool is_own = task->principal() == principal;
    const bool runs = !task->HasEnded();
    running += runs ? 1 : 0;
    own_running += runs && is_own ? 1 : 0;
    own += is_own ? 1 : 0;
    results += task->size();
  }
  if (own_running >= limits_.running || running >= limits_.running_in_all) {
    return Error(
        ErrorKind::kUnavailable,
        fmt::format("too many tasks run: {} of this client, {} in all", own_running, running));
  }
  if (own >= limits_.kept || results >= limits_.results.count()) {
    return Error(ErrorKind::kUnavailable,
                 "too many results of tasks are kept; they expire one after another");
  }
  return {};
}

Result<std::shared_ptr<Task>> Tasks::Create(const std::string& principal,
                                            std::optional<Duration> lifetime,
                                            std::stop_source stop) {
  const Duration wanted = lifetime.value_or(limits_.lifetime);
  const std::lock_guard lock(mutex_);
  RemoveExpired();
  POLYBOX_RETURN_IF_ERROR(Admit(principal));
  tasks_.push_back(std::make_shared<Task>(
      NewUuid(), principal, std::min(wanted, limits_.longest_lifetime), std::move(stop)));
  return tasks_.back();
}

Result<std::shared_ptr<Task>> Tasks::Find(std::string_view principal, std::string_view id) {
  const std::lock_guard lock(mutex_);
  RemoveExpired();
  for (const std::shared_ptr<Task>& task : tasks_) {
    if (task->id() == id && task->principal() == principal) return task;
  }
  const bool expired = std::ranges::any_of(
      expired_, [&](const Expired& each) { return each.id == id && each.principal == principal; });
  const std::string shown = Printable(id, kShownId);
  return Error(ErrorKind::kNotFound,
               expired ? fmt::format("the task {} has expired: its time to live is over", shown)
                       : fmt::format("unknown task {}", shown));
}

std::vector<std::shared_ptr<Task>> Tasks::List(std::string_view principal) {
  const std::lock_guard lock(mutex_);
  RemoveExpired();
  std::vector<std::shared_ptr<Task>> own;
  std::ranges::copy_if(tasks_, std::back_inserter(own),
                       [&](const auto& task) { return task->principal() == principal; });
  std::ranges::reverse(own);
  return own;
}

void Tasks::CancelAll() {
  std::vector<std::shared_ptr<Task>> all;
  {
    const std::lock_guard lock(mutex_);
    all = tasks_;
  }
  for (const std::shared_ptr<Task>& task : all) task->Cancel();
}

void Tasks::RemoveExpired() {
  const auto now = std::chrono::system_clock::now();
  std::erase_if(tasks_, [&](const std::shared_ptr<Task>& task) {
    if (!task->ExpiredAt(now, limits_.after_end)) return false;
    expired_.push_back({task->principal(), task->id()});
    return true;
  });
  while (expired_.size() > kMostExpired) expired_.pop_front();
}

}  // namespace polybox::mcp
