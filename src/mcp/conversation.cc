#include "mcp/conversation.h"

#include <condition_variable>
#include <utility>
#include <vector>

#include "json/write.h"

namespace polybox::mcp {

/// A request of polybox that waits for the client's answer.
struct Conversation::Asked {
  std::mutex mutex;
  std::condition_variable_any answered;
  /// Guarded by `mutex`.
  std::optional<Outcome> outcome = {};
};

std::optional<Version> Conversation::settled() const {
  const std::lock_guard lock(mutex_);
  return settled_;
}

void Conversation::Settle(Version version, json::Object capabilities) {
  const std::lock_guard lock(mutex_);
  settled_ = version;
  capabilities_ = std::move(capabilities);
}

std::optional<json::Object> Conversation::capabilities() const {
  const std::lock_guard lock(mutex_);
  return capabilities_;
}

void Conversation::SetLogLevel(tools::LogLevel level) {
  const std::lock_guard lock(mutex_);
  log_level_ = level;
}

tools::LogLevel Conversation::log_level() const {
  const std::lock_guard lock(mutex_);
  return log_level_;
}

std::string_view Conversation::Open(const json::Value& id, const std::shared_ptr<Call>& call) {
  const std::lock_guard lock(mutex_);
  if (open_.size() >= kMostOpen) return "too many requests are open";
  const bool is_new = open_.emplace(json::Write(id), call).second;
  return is_new ? "" : "a request with this id runs already";
}

void Conversation::Close(const json::Value& id, const Call& call) {
  const std::lock_guard lock(mutex_);
  const auto found = open_.find(json::Write(id));
  // A request that became a task freed its id, and the client may have used the id again.
  if (found != open_.end() && found->second.get() == &call) open_.erase(found);
}

std::shared_ptr<Call> Conversation::Find(const json::Value& id) const {
  const std::lock_guard lock(mutex_);
  const auto found = open_.find(json::Write(id));
  return found == open_.end() ? nullptr : found->second;
}

void Conversation::CancelAll(const void* origin) {
  std::vector<std::shared_ptr<Call>> calls;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(open_, [&](const auto& open) {
      const bool ends = origin == nullptr || open.second->origin() == origin;
      if (ends) calls.push_back(open.second);
      return ends;
    });
  }
  for (const std::shared_ptr<Call>& call : calls) call->Cancel();
}

Result<json::Object> Conversation::Ask(const tools::Question& question, const SendMessage& send,
                                       const std::stop_token& stop) {
  const auto asked = std::make_shared<Asked>();
  std::int64_t id = 0;
  {
    const std::lock_guard lock(mutex_);
    id = ++last_asked_;
    asked_[id] = asked;
  }
  send(RequestMessage(id, question.method, question.params));
  std::unique_lock lock(asked->mutex);
  const bool answered =
      asked->answered.wait(lock, stop, [&] { return asked->outcome.has_value(); });
  lock.unlock();
  {
    const std::lock_guard own(mutex_);
    asked_.erase(id);
  }
  if (!answered) return Error(ErrorKind::kUnavailable, "the call was cancelled");
  if (const auto* error = std::get_if<RpcError>(&*asked->outcome)) {
    return Error(ErrorKind::kUnavailable,
                 "the client refused " + question.method + ": " + error->message);
  }
  return std::get<json::Object>(std::move(*asked->outcome));
}

void Conversation::TakeAnswer(const Response& response) {
  std::shared_ptr<Asked> asked;
  {
    const std::lock_guard lock(mutex_);
    if (!response.id || !response.id->is_int64()) return;
    const auto found = asked_.find(response.id->get_int64());
    if (found == asked_.end()) return;
    asked = found->second;
  }
  {
    const std::lock_guard lock(asked->mutex);
    if (!asked->outcome) asked->outcome = response.outcome;
  }
  asked->answered.notify_all();
}

bool Conversation::OpenStream(SendMessage stream) {
  const std::lock_guard lock(stream_mutex_);
  if (stream_) return false;
  stream_ = std::move(stream);
  return true;
}

void Conversation::CloseStream() {
  SendMessage closed;
  {
    const std::lock_guard lock(stream_mutex_);
    closed = std::exchange(stream_, nullptr);
  }
  // Destroyed without the lock: it may hold the last reference to an answer of HTTP.
}

void Conversation::Send(const json::Value& message) {
  const std::lock_guard lock(stream_mutex_);
  if (stream_) stream_(message);
}

bool Conversation::has_stream() const {
  const std::lock_guard lock(stream_mutex_);
  return stream_ != nullptr;
}

bool Conversation::Keep(const std::string& uri, std::unique_ptr<tools::Watch> watch) {
  std::unique_ptr<tools::Watch> earlier;
  {
    const std::lock_guard lock(mutex_);
    if (!watches_.contains(uri) && watches_.size() >= kMostWatches) return false;
    earlier = std::exchange(watches_[uri], std::move(watch));
  }
  // `earlier` is destroyed without the lock: its destructor waits for a running notification.
  return true;
}

void Conversation::Drop(const std::string& uri) {
  std::unique_ptr<tools::Watch> dropped;
  {
    const std::lock_guard lock(mutex_);
    const auto found = watches_.find(uri);
    if (found == watches_.end()) return;
    dropped = std::move(found->second);
    watches_.erase(found);
  }
}

}  // namespace polybox::mcp
