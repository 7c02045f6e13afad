// One conversation with a client: takes its messages, runs calls on the pool, and sends answers and
// reports of progress. A transport makes one connection per pipe or per request.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/units.h"
#include "mcp/call_pool.h"
#include "mcp/dispatcher.h"
#include "mcp/json_rpc.h"
#include "mcp/version.h"

namespace polybox::mcp {

struct ConnectionOptions {
  /// Both outlive the connection and its calls.
  const Dispatcher& dispatcher;
  CallPool& calls;
  /// Given to each tool. The connection adds `stop` and `progress`.
  tools::Context context;
  /// Takes an answer, or the answers to a batch. Any thread, also several at once. Must not call
  /// the connection.
  std::function<void(const json::Value&)> send;
  /// Takes a report of progress, as `send` does. Null if the client cannot take any.
  std::function<void(const json::Value&)> notify = nullptr;
  /// The version that the transport knows, for messages that name none.
  std::optional<Version> settled = {};
  /// The longest message. A client that writes a file of 10 MB stays below it.
  Bytes largest_message = Bytes::MiB(16);
  /// Messages in a batch. Answers to a batch are kept until all are there.
  std::size_t largest_batch = 100;
};

/// Receive(), Take() and RefuseTooLong() belong to one thread; CancelAll() to any.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  static std::shared_ptr<Connection> Make(ConnectionOptions options);

  /// Takes one message or batch. Answers at once what runs no tool.
  void Receive(std::string_view text);
  /// The same for text that is parsed already. `size` is its length.
  void Take(json::Value message, std::size_t size);
  /// Answers a message that the transport could not take, because it is longer than
  /// `largest_message`.
  void RefuseTooLong();
  /// Requests all running calls to stop. Their answers are not sent.
  void CancelAll();

 private:
  /// A call of a tool that has no answer yet.
  struct Call {
    std::mutex mutex;
    /// Answered or cancelled: nothing more is sent for this call. Guarded by `mutex`.
    bool over = false;
    /// The last reported progress, which must grow. Guarded by `mutex`.
    std::optional<double> progress = {};
    std::stop_source stop = {};
  };
  /// Takes the answer to one request; nothing if the call was cancelled.
  using Reply = std::function<void(std::optional<json::Object>)>;

  explicit Connection(ConnectionOptions options)
      : options_(std::move(options)), settled_(options_.settled) {}

  void ReceiveBatch(json::Array messages, std::size_t size);
  void ReceiveOne(json::Value message, std::size_t size, const Reply& reply);
  void Handle(Request request, std::size_t size, const Reply& reply);
  void Handle(const Notification& notification);
  void StartCall(Request request, Version version, std::size_t size, const Reply& reply);
  /// Runs on a thread of the pool.
  void RunCall(const Request& request, Version version, const std::shared_ptr<Call>& call,
               const Reply& reply);
  std::function<void(const tools::Progress&)> ProgressOf(const Request& request, Version version,
                                                         const std::shared_ptr<Call>& call);
  void Cancel(const std::shared_ptr<Call>& call);
  Reply Single();

  const ConnectionOptions options_;
  /// The version of messages that name none; `initialize` sets it. Only for the receiving thread.
  std::optional<Version> settled_;
  std::mutex mutex_;
  /// Calls without an answer, by the JSON text of their id. Guarded by `mutex_`.
  std::map<std::string, std::shared_ptr<Call>> running_;
};

}  // namespace polybox::mcp
