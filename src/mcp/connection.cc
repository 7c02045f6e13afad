#include "mcp/connection.h"

#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "json/parse.h"
#include "json/write.h"

namespace polybox::mcp {
namespace {

constexpr std::string_view kCancelled = "notifications/cancelled";

json::Object InvalidRequest(std::string why) {
  return ErrorResponse({}, {Code::kInvalidRequest, std::move(why)});
}

json::Object ToResponse(const json::Value& id, Outcome outcome) {
  if (auto* error = std::get_if<RpcError>(&outcome)) return ErrorResponse(id, std::move(*error));
  return ResultResponse(id, std::get<json::Object>(std::move(outcome)));
}

/// Returns a whole number without a fraction.
json::Value NumberOf(double number) {
  constexpr double kExact = 9007199254740992.0;  // 2^53: below, every whole number is a double
  if (std::trunc(number) != number || std::abs(number) > kExact) return number;
  return static_cast<std::int64_t>(number);
}

/// Collects the answers to a batch and sends them when the last one is there.
class BatchAnswers {
 public:
  BatchAnswers(std::size_t count, std::function<void(const json::Value&)> send)
      : missing_(count), send_(std::move(send)) {}

  void Add(std::optional<json::Object> answer) {
    const std::lock_guard lock(mutex_);
    if (answer) answers_.push_back(*std::move(answer));
    if (--missing_ == 0 && !answers_.empty()) send_(json::Value(answers_));
  }

 private:
  std::mutex mutex_;
  json::Array answers_;
  std::size_t missing_;
  std::function<void(const json::Value&)> send_;
};

}  // namespace

std::shared_ptr<Connection> Connection::Make(ConnectionOptions options) {
  return std::shared_ptr<Connection>(new Connection(std::move(options)));
}

void Connection::Receive(std::string_view text) {
  if (text.size() > options_.largest_message.count()) return RefuseTooLong();
  Result<json::Value> parsed = json::Parse(text, {.size = options_.largest_message});
  if (!parsed.ok()) {
    return options_.send(ErrorResponse({}, {Code::kParseError, parsed.error().message()}));
  }
  Take(std::move(parsed).value(), text.size());
}

void Connection::Take(json::Value message, std::size_t size) {
  if (json::Array* batch = message.if_array()) return ReceiveBatch(std::move(*batch), size);
  ReceiveOne(std::move(message), size, Single());
}

void Connection::RefuseTooLong() {
  options_.send(InvalidRequest(
      fmt::format("the message is longer than {}", FormatBytes(options_.largest_message))));
}

void Connection::ReceiveBatch(json::Array messages, std::size_t size) {
  if (!settled_ || !HasBatches(*settled_)) {
    return options_.send(InvalidRequest("batches exist only up to version 2025-03-26"));
  }
  if (messages.empty()) return options_.send(InvalidRequest("a batch must not be empty"));
  if (messages.size() > options_.largest_batch) {
    return options_.send(
        InvalidRequest(fmt::format("the batch has {} messages; at most {} are allowed",
                                   messages.size(), options_.largest_batch)));
  }
  const auto answers = std::make_shared<BatchAnswers>(messages.size(), options_.send);
  const std::size_t share = size / messages.size();
  for (json::Value& message : messages) {
    ReceiveOne(std::move(message), share,
               [answers](std::optional<json::Object> answer) { answers->Add(std::move(answer)); });
  }
}

void Connection::ReceiveOne(json::Value value, std::size_t size, const Reply& reply) {
  Message message = ReadMessage(std::move(value));
  if (auto* request = std::get_if<Request>(&message)) {
    return Handle(std::move(*request), size, reply);
  }
  if (auto* invalid = std::get_if<Invalid>(&message)) {
    return reply(ErrorResponse(invalid->id, std::move(invalid->error)));
  }
  if (const auto* notification = std::get_if<Notification>(&message)) Handle(*notification);
  reply(std::nullopt);
}

void Connection::Handle(Request request, std::size_t size, const Reply& reply) {
  auto version = options_.dispatcher.VersionOf(request, settled_);
  if (auto* error = std::get_if<RpcError>(&version)) {
    return reply(ErrorResponse(request.id, std::move(*error)));
  }
  const Version spoken = std::get<Version>(version);
  if (Dispatcher::RunsTool(request)) return StartCall(std::move(request), spoken, size, reply);
  if (request.method == "initialize") settled_ = spoken;
  reply(ToResponse(request.id, options_.dispatcher.Answer(request, spoken, options_.context)));
}

void Connection::Handle(const Notification& notification) {
  // The others (initialized, progress, roots) change nothing here.
  if (notification.method != kCancelled) return;
  const json::Value* id = notification.params.if_contains("requestId");
  if (id == nullptr) return;
  std::shared_ptr<Call> call;
  {
    const std::lock_guard lock(mutex_);
    const auto found = running_.find(json::Write(*id));
    if (found != running_.end()) call = found->second;
  }
  if (call != nullptr) Cancel(call);
}

void Connection::StartCall(Request request, Version version, std::size_t size, const Reply& reply) {
  const auto call = std::make_shared<Call>();
  const std::string key = json::Write(request.id);
  const json::Value id = request.id;
  {
    const std::lock_guard lock(mutex_);
    if (!running_.emplace(key, call).second) {
      return reply(
          ErrorResponse(id, {Code::kInvalidRequest, "a request with this id runs already"}));
    }
  }
  const bool taken =
      options_.calls.Submit([self = shared_from_this(), request = std::move(request), version, call,
                             reply] { self->RunCall(request, version, call, reply); },
                            Bytes(size));
  if (taken) return;
  {
    const std::lock_guard lock(mutex_);
    running_.erase(key);
  }
  reply(ErrorResponse(id, {Code::kBusy, "too many calls wait already; try again later"}));
}

void Connection::RunCall(const Request& request, Version version, const std::shared_ptr<Call>& call,
                         const Reply& reply) {
  tools::Context context = options_.context;
  context.stop = call->stop.get_token();
  context.progress = ProgressOf(request, version, call);
  std::optional<json::Object> answer;
  // A call that was cancelled while it waited does not start.
  if (!context.stop.stop_requested()) {
    answer = ToResponse(request.id, options_.dispatcher.Answer(request, version, context));
  }
  {
    const std::lock_guard lock(call->mutex);
    // MCP forbids an answer to a cancelled request.
    if (std::exchange(call->over, true)) answer.reset();
  }
  {
    const std::lock_guard lock(mutex_);
    running_.erase(json::Write(request.id));
  }
  reply(std::move(answer));
}

std::function<void(const tools::Progress&)> Connection::ProgressOf(
    const Request& request, Version version, const std::shared_ptr<Call>& call) {
  const json::Value* meta = request.params.if_contains("_meta");
  const json::Object* members = meta == nullptr ? nullptr : meta->if_object();
  const json::Value* token = members == nullptr ? nullptr : members->if_contains("progressToken");
  const bool asked = token != nullptr && IsId(*token);
  if (!asked || !options_.notify) return nullptr;
  return
      [self = shared_from_this(), token = *token, version, call](const tools::Progress& progress) {
        json::Object params = {{"progressToken", token}, {"progress", NumberOf(progress.done)}};
        if (progress.total) params["total"] = NumberOf(*progress.total);
        if (!progress.message.empty() && HasProgressMessages(version)) {
          params["message"] = json::Text(progress.message);
        }
        // The lock is kept while sending, so that no report follows the answer.
        const std::lock_guard lock(call->mutex);
        if (call->over || (call->progress && progress.done <= *call->progress)) return;
        call->progress = progress.done;
        self->options_.notify(NotificationMessage("notifications/progress", std::move(params)));
      };
}

void Connection::Cancel(const std::shared_ptr<Call>& call) {
  {
    const std::lock_guard lock(call->mutex);
    if (std::exchange(call->over, true)) return;
  }
  call->stop.request_stop();
}

void Connection::CancelAll() {
  std::vector<std::shared_ptr<Call>> calls;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [id, call] : running_) calls.push_back(call);
  }
  for (const std::shared_ptr<Call>& call : calls) Cancel(call);
}

Connection::Reply Connection::Single() {
  return [self = shared_from_this()](std::optional<json::Object> answer) {
    if (answer) self->options_.send(*std::move(answer));
  };
}

}  // namespace polybox::mcp
