// Takes the messages of a client, runs calls on the pool, and sends answers and notifications. A
// transport makes one connection per pipe or per request; what lasts longer is in
// mcp/conversation.h.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/units.h"
#include "mcp/call.h"
#include "mcp/call_client.h"
#include "mcp/call_pool.h"
#include "mcp/conversation.h"
#include "mcp/dispatcher.h"
#include "mcp/json_rpc.h"
#include "mcp/tasks.h"
#include "mcp/version.h"

namespace polybox::mcp {

struct ConnectionOptions {
  /// All three outlive the connection and its calls. Without `tasks` no call becomes a task.
  const Dispatcher& dispatcher;
  CallPool& calls;
  Tasks* tasks = nullptr;
  /// Given to each tool. The connection adds `stop`, `progress` and `client`.
  tools::Context context;
  /// Takes an answer, or the answers to a batch. Any thread, also several at once. Must not call
  /// the connection.
  SendMessage send;
  /// Takes notifications and questions that belong to an open request, as `send` does. Null if the
  /// client cannot take any.
  SendMessage notify = nullptr;
  /// Called in place of `send` for a request that was cancelled.
  std::function<void()> drop = nullptr;
  /// The version that the transport knows, for messages that name none.
  std::optional<Version> settled = {};
  /// What the client's other connections share with this one; null if there are none.
  std::shared_ptr<Conversation> conversation = nullptr;
  /// The longest message. A client that writes a file of 10 MB stays below it.
  Bytes largest_message = Bytes::MiB(16);
  /// Messages in a batch. Answers to a batch are kept until all are there.
  std::size_t largest_batch = 100;
};

/// Receive(), Take() and RefuseTooLong() belong to one thread; CancelAll() to any.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  static std::shared_ptr<Connection> Make(ConnectionOptions options);

  /// Takes one message or batch. Answers at once what takes no time.
  void Receive(std::string_view text);
  /// The same for text that is parsed already. `size` is its length.
  void Take(json::Value message, std::size_t size);
  /// Answers a message that the transport could not take, because it is longer than
  /// `largest_message`.
  void RefuseTooLong();
  /// Requests the calls that came over this connection to stop. Their answers are not sent. Tasks
  /// go on.
  void CancelAll();

 private:
  /// A request with what is known about it.
  struct Incoming {
    Request request;
    Version version;
    Bytes size;
    Reply reply;
  };

  explicit Connection(ConnectionOptions options);

  void ReceiveBatch(json::Array messages, std::size_t size);
  void ReceiveOne(json::Value message, std::size_t size, const Reply& reply);
  void Handle(Incoming incoming);
  void Handle(const Notification& notification);
  /// Returns the answer to a request that takes no time.
  Outcome AnswerNow(const Incoming& incoming);
  Outcome Initialize(const Incoming& incoming);
  Outcome SetLogLevel(const Request& request);
  Outcome Unsubscribe(const Request& request);
  Outcome AnswerAboutTasks(const Incoming& incoming);
  /// Answers tasks/result when the task has ended.
  void AwaitTask(const Incoming& incoming);
  /// Registers an open request. Returns null, and answers it, if that cannot be.
  std::shared_ptr<Call> OpenCall(const Incoming& incoming);
  void StartCall(Incoming incoming);

  // The functions below run on a thread of the pool.
  void RunCall(const Incoming& incoming, const std::shared_ptr<Call>& call);
  std::optional<Outcome> Run(const Incoming& incoming, const std::shared_ptr<Call>& call,
                             const tools::Context& context);
  /// Returns the outcome; nothing if it belongs to a task.
  std::optional<Outcome> RunWithClient(const Incoming& incoming, const std::shared_ptr<Call>& call,
                                       tools::Context context);
  Outcome Subscribe(const Request& request, Version version, const tools::Context& context);
  CallClientOptions ClientOptionsFor(const Incoming& incoming, const std::shared_ptr<Call>& call);
  /// Returns why a call cannot run as the client wants it, with or without a task.
  std::optional<RpcError> RefuseTaskUse(const Incoming& incoming) const;
  std::shared_ptr<Task> MakeTask(const Incoming& incoming, const std::shared_ptr<Call>& call);
  std::function<void(const tools::Progress&)> ProgressOf(const Incoming& incoming,
                                                         const std::shared_ptr<Call>& call,
                                                         const CallClient& client);

  /// Returns whether the client takes tasks that polybox decides on.
  bool TakesTasks(const Incoming& incoming) const;
  std::optional<json::Object> CapabilitiesOf(const Incoming& incoming) const;
  Reply Single();

  const ConnectionOptions options_;
  const std::shared_ptr<Conversation> conversation_;
};

}  // namespace polybox::mcp
