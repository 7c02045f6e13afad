// A request that has no answer yet. Exactly one of the answer, the cancellation and the turn to a
// task ends it, whichever comes first. Any thread.
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>

#include "json/value.h"

namespace polybox::mcp {

/// Takes the answer to one request; nothing if the request was cancelled.
using Reply = std::function<void(std::optional<json::Object>)>;

class Call {
 public:
  /// `origin` is the connection that received the request; it is only compared.
  Call(const void* origin, Reply reply) : origin_(origin), reply_(std::move(reply)) {}

  const void* origin() const { return origin_; }
  std::stop_token stop_token() const { return stop_.get_token(); }
  const std::stop_source& stop_source() const { return stop_; }

  /// Sends the answer. Returns false if the call was over before.
  bool Answer(json::Object answer);
  /// Requests the tool to stop. The client gets no answer: MCP forbids one.
  void Cancel();
  /// Calls `send` unless the call is over. The lock is held meanwhile, so that no notification
  /// follows the answer.
  void WhileOpen(const std::function<void()>& send);
  /// Returns whether `progress` is more than was reported before, as MCP wants it.
  bool Grows(double progress);
  /// Called once when the call is cancelled, to free what it holds. Called at once if it is over.
  void OnCancel(std::function<void()> free);

 private:
  /// Returns the reply if the call was not over.
  std::optional<Reply> End();

  const void* const origin_;
  std::stop_source stop_;
  std::mutex mutex_;
  // All below are guarded by `mutex_`.
  Reply reply_;
  bool over_ = false;
  std::optional<double> progress_;
  std::function<void()> free_;
};

}  // namespace polybox::mcp
