// What a conversation remembers between messages: what `initialize` settled, which requests are
// open, what polybox has asked the client, and what the client has subscribed to. A pipe and a
// session of HTTP have one conversation; a request of HTTP that stands alone has its own. Any
// thread.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/result.h"
#include "json/value.h"
#include "mcp/call.h"
#include "mcp/json_rpc.h"
#include "mcp/version.h"
#include "tools/client.h"
#include "tools/resource.h"

namespace polybox::mcp {

/// Takes a message for the client. Must not call the conversation.
using SendMessage = std::function<void(const json::Value&)>;

class Conversation : public std::enable_shared_from_this<Conversation> {
 public:
  /// Requests of the client that may be open at once, beside calls that wait in the pool. Clients
  /// keep a few streams of subscriptions.
  static constexpr std::size_t kMostOpen = 1024;
  /// Documents that the client may watch. Each costs a watch of the kernel.
  static constexpr std::size_t kMostWatches = 64;

  explicit Conversation(std::optional<Version> settled = {}) : settled_(settled) {}

  /// The version of messages that name none.
  std::optional<Version> settled() const;
  /// Remembers what `initialize` said.
  void Settle(Version version, json::Object capabilities);
  /// Nothing if the client never said what it can do.
  std::optional<json::Object> capabilities() const;
  void SetLogLevel(tools::LogLevel level);
  /// Lines of lower levels are not sent. Until the client says otherwise, it gets warnings.
  tools::LogLevel log_level() const;

  /// Registers an open request. Returns why that cannot be: one with this id is open already, or
  /// too many are. Returns "" if it was registered.
  std::string_view Open(const json::Value& id, const std::shared_ptr<Call>& call);
  void Close(const json::Value& id, const Call& call);
  std::shared_ptr<Call> Find(const json::Value& id) const;
  /// Cancels the open requests that this connection received; null: all.
  void CancelAll(const void* origin);

  /// Sends a request through `send` and waits for the client's answer.
  Result<json::Object> Ask(const tools::Question& question, const SendMessage& send,
                           const std::stop_token& stop);
  /// Takes the client's answer. An answer to nothing is ignored.
  void TakeAnswer(const Response& response);

  /// Sets where messages go that belong to no request. Returns false if there is a stream already.
  bool OpenStream(SendMessage stream);
  void CloseStream();
  /// Sends such a message. Drops it if there is no stream.
  void Send(const json::Value& message);
  bool has_stream() const;

  /// Keeps a watch under its URI, in place of an earlier one. Returns false if there are too many.
  bool Keep(const std::string& uri, std::unique_ptr<tools::Watch> watch);
  void Drop(const std::string& uri);

 private:
  struct Asked;

  mutable std::mutex mutex_;
  // All below are guarded by `mutex_`.
  std::optional<Version> settled_;
  std::optional<json::Object> capabilities_;
  tools::LogLevel log_level_ = tools::LogLevel::kWarning;
  /// By the JSON text of their id.
  std::map<std::string, std::shared_ptr<Call>> open_;
  std::map<std::int64_t, std::shared_ptr<Asked>> asked_;
  std::int64_t last_asked_ = 0;
  std::map<std::string, std::unique_ptr<tools::Watch>> watches_;
  /// Guards the stream, which is called under it. No other lock is taken under it.
  mutable std::mutex stream_mutex_;
  SendMessage stream_;
};

}  // namespace polybox::mcp
