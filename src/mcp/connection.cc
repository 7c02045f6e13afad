#include "mcp/connection.h"

#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "json/parse.h"
#include "json/write.h"
#include "mcp/listening.h"
#include "mcp/task_methods.h"

namespace polybox::mcp {
namespace {

constexpr std::string_view kCancelled = "notifications/cancelled";
constexpr std::string_view kCapabilitiesKey = "io.modelcontextprotocol/clientCapabilities";
constexpr std::string_view kLogLevelKey = "io.modelcontextprotocol/logLevel";

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

const json::Value* MetaMember(const Request& request, std::string_view key) {
  const json::Value* meta = request.params.if_contains("_meta");
  const json::Object* members = meta == nullptr ? nullptr : meta->if_object();
  return members == nullptr ? nullptr : members->if_contains(key);
}

json::Object ObjectMember(const json::Object& object, std::string_view name) {
  const json::Value* found = object.if_contains(name);
  return found != nullptr && found->is_object() ? found->get_object() : json::Object();
}

/// Collects the answers to a batch and sends them when the last one is there.
class BatchAnswers {
 public:
  BatchAnswers(std::size_t count, SendMessage send) : missing_(count), send_(std::move(send)) {}

  void Add(std::optional<json::Object> answer) {
    const std::lock_guard lock(mutex_);
    if (answer) answers_.push_back(*std::move(answer));
    if (--missing_ == 0 && !answers_.empty()) send_(json::Value(answers_));
  }

 private:
  std::mutex mutex_;
  json::Array answers_;
  std::size_t missing_;
  SendMessage send_;
};

}  // namespace

Connection::Connection(ConnectionOptions options)
    : options_(std::move(options)),
      conversation_(options_.conversation != nullptr
                        ? options_.conversation
                        : std::make_shared<Conversation>(options_.settled)) {}

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
  const std::optional<Version> settled = conversation_->settled();
  if (!settled || !HasBatches(*settled)) {
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
    return Handle({std::move(*request), kLatestLegacy, Bytes(size), reply});
  }
  if (auto* invalid = std::get_if<Invalid>(&message)) {
    return reply(ErrorResponse(invalid->id, std::move(invalid->error)));
  }
  if (const auto* notification = std::get_if<Notification>(&message)) Handle(*notification);
  if (const auto* response = std::get_if<Response>(&message)) conversation_->TakeAnswer(*response);
  reply(std::nullopt);
}

void Connection::Handle(Incoming incoming) {
  auto version = options_.dispatcher.VersionOf(incoming.request, conversation_->settled());
  if (auto* error = std::get_if<RpcError>(&version)) {
    return incoming.reply(ErrorResponse(incoming.request.id, std::move(*error)));
  }
  incoming.version = std::get<Version>(version);
  if (Dispatcher::TakesTime(incoming.request)) return StartCall(std::move(incoming));
  const bool waits = incoming.request.method == "tasks/result" &&
                     IsTaskMethod("tasks/result", incoming.version) && options_.tasks != nullptr;
  if (waits) return AwaitTask(incoming);
  incoming.reply(ToResponse(incoming.request.id, AnswerNow(incoming)));
}

Outcome Connection::AnswerNow(const Incoming& incoming) {
  const std::string& method = incoming.request.method;
  const bool legacy = !IsModern(incoming.version);
  if (legacy && method == "initialize") return Initialize(incoming);
  if (legacy && method == "logging/setLevel") return SetLogLevel(incoming.request);
  if (legacy && method == "resources/unsubscribe" &&
      options_.dispatcher.documents().has_sources()) {
    return Unsubscribe(incoming.request);
  }
  if (options_.tasks != nullptr && IsTaskMethod(method, incoming.version)) {
    return AnswerAboutTasks(incoming);
  }
  return options_.dispatcher.Answer(incoming.request, incoming.version, options_.context);
}

Outcome Connection::Initialize(const Incoming& incoming) {
  conversation_->Settle(incoming.version, ObjectMember(incoming.request.params, "capabilities"));
  return options_.dispatcher.Answer(incoming.request, incoming.version, options_.context);
}

Outcome Connection::SetLogLevel(const Request& request) {
  const auto named = TextParam(request.params, "level");
  if (const auto* wrong = std::get_if<RpcError>(&named)) return *wrong;
  const std::optional<tools::LogLevel> level = LogLevelNamed(std::get<std::string_view>(named));
  if (!level) return RpcError{Code::kInvalidParams, "level must be one of syslog's, such as info"};
  conversation_->SetLogLevel(*level);
  return json::Object();
}

Outcome Connection::Unsubscribe(const Request& request) {
  const auto uri = TextParam(request.params, "uri");
  if (const auto* wrong = std::get_if<RpcError>(&uri)) return *wrong;
  conversation_->Drop(std::string(std::get<std::string_view>(uri)));
  return json::Object();
}

Outcome Connection::AnswerAboutTasks(const Incoming& incoming) {
  if (IsModern(incoming.version) && !TakesTasks(incoming)) {
    return MissingCapability({{"extensions", json::Object{{kTasksExtension, json::Object()}}}});
  }
  Outcome outcome = AnswerTaskMethod(incoming.request, incoming.version, options_.context.principal,
                                     *options_.tasks);
  if (auto* result = std::get_if<json::Object>(&outcome)) {
    return options_.dispatcher.Complete(std::move(*result), incoming.version);
  }
  return outcome;
}

void Connection::AwaitTask(const Incoming& incoming) {
  const auto named = NamedTask(incoming.request, options_.context.principal, *options_.tasks);
  if (const auto* wrong = std::get_if<RpcError>(&named)) {
    return incoming.reply(ErrorResponse(incoming.request.id, *wrong));
  }
  const auto task = std::get<std::shared_ptr<Task>>(named);
  const std::shared_ptr<Call> call = OpenCall(incoming);
  if (call == nullptr) return;
  const std::uint64_t number =
      task->OnEnd([weak = std::weak_ptr(task), call, id = incoming.request.id,
                   conversation = std::weak_ptr(conversation_)] {
        if (const auto held = conversation.lock()) held->Close(id, *call);
        if (const auto ended = weak.lock()) call->Answer(ToResponse(id, TaskResult(*ended)));
      });
  call->OnCancel([task, number] { task->StopWaiting(number); });
}

void Connection::Handle(const Notification& notification) {
  // The others (initialized, progress, roots) change nothing here.
  if (notification.method != kCancelled) return;
  const json::Value* id = notification.params.if_contains("requestId");
  if (id == nullptr) return;
  const std::shared_ptr<Call> call = conversation_->Find(*id);
  if (call == nullptr) return;
  conversation_->Close(*id, *call);
  call->Cancel();
}

std::shared_ptr<Call> Connection::OpenCall(const Incoming& incoming) {
  const auto reply = [self = shared_from_this(),
                      reply = incoming.reply](std::optional<json::Object> answer) {
    const bool cancelled = !answer.has_value();
    reply(std::move(answer));
    if (cancelled && self->options_.drop) self->options_.drop();
  };
  auto call = std::make_shared<Call>(this, reply);
  const std::string_view refusal = conversation_->Open(incoming.request.id, call);
  if (refusal.empty()) return call;
  incoming.reply(ErrorResponse(incoming.request.id, {Code::kInvalidRequest, std::string(refusal)}));
  return nullptr;
}

void Connection::StartCall(Incoming incoming) {
  const std::shared_ptr<Call> call = OpenCall(incoming);
  if (call == nullptr) return;
  const json::Value id = incoming.request.id;
  const Bytes size = incoming.size;
  const bool taken =
      options_.calls.Submit([self = shared_from_this(), incoming = std::move(incoming),
                             call] { self->RunCall(incoming, call); },
                            size);
  if (taken) return;
  conversation_->Close(id, *call);
  call->Answer(ErrorResponse(id, {Code::kBusy, "too many calls wait already; try again later"}));
}

void Connection::RunCall(const Incoming& incoming, const std::shared_ptr<Call>& call) {
  tools::Context context = options_.context;
  context.stop = call->stop_token();
  // A call that was cancelled while it waited does not start.
  if (context.stop.stop_requested()) return;
  std::optional<Outcome> outcome = Run(incoming, call, context);
  if (!outcome) return;
  conversation_->Close(incoming.request.id, *call);
  call->Answer(ToResponse(incoming.request.id, *std::move(outcome)));
}

std::optional<Outcome> Connection::Run(const Incoming& incoming, const std::shared_ptr<Call>& call,
                                       const tools::Context& context) {
  const Request& request = incoming.request;
  const bool has_sources = options_.dispatcher.documents().has_sources();
  if (request.method == "resources/subscribe" && !IsModern(incoming.version) && has_sources) {
    return Subscribe(request, incoming.version, context);
  }
  if (request.method == "subscriptions/listen" && IsModern(incoming.version) && options_.notify) {
    return Listen({request, options_.dispatcher.documents(), context, options_.notify}, call);
  }
  return RunWithClient(incoming, call, context);
}

std::optional<Outcome> Connection::RunWithClient(const Incoming& incoming,
                                                 const std::shared_ptr<Call>& call,
                                                 tools::Context context) {
  CallClient client(ClientOptionsFor(incoming, call));
  if (auto wrong = client.ReadAnswers()) return *std::move(wrong);
  if (auto refused = RefuseTaskUse(incoming)) return *std::move(refused);
  if (WantedTaskOf(incoming.request, incoming.version).asks) {
    if (!client.BecomeTask()) return RpcError{Code::kBusy, "too many tasks; try again later"};
  }
  context.client = &client;
  context.progress = ProgressOf(incoming, call, client);
  Outcome outcome = options_.dispatcher.Answer(incoming.request, incoming.version, context);
  std::optional<Outcome> questions = client.TakeQuestions();
  const auto* asked = questions ? std::get_if<json::Object>(&*questions) : nullptr;
  if (asked != nullptr) {
    questions = options_.dispatcher.Complete(*asked, incoming.version, "input_required");
  }
  if (questions) outcome = *std::move(questions);
  if (client.task() == nullptr) return outcome;
  client.task()->Finish(std::move(outcome));
  return std::nullopt;
}

Outcome Connection::Subscribe(const Request& request, Version version,
                              const tools::Context& context) {
  const auto named = TextParam(request.params, "uri");
  if (const auto* wrong = std::get_if<RpcError>(&named)) return *wrong;
  const std::string uri(std::get<std::string_view>(named));
  auto changed = [weak = std::weak_ptr(conversation_), uri] {
    const auto conversation = weak.lock();
    if (conversation == nullptr) return;
    conversation->Send(
        NotificationMessage("notifications/resources/updated", {{"uri", json::Text(uri)}}));
  };
  auto watch = options_.dispatcher.documents().WatchFor(context, uri, std::move(changed));
  if (!watch.ok()) return NoResource(version, uri, watch.error().message());
  if (!conversation_->Keep(uri, std::move(watch).value())) {
    return RpcError{Code::kBusy,
                    fmt::format("at most {} documents can be watched", Conversation::kMostWatches)};
  }
  return json::Object();
}

CallClientOptions Connection::ClientOptionsFor(const Incoming& incoming,
                                               const std::shared_ptr<Call>& call) {
  CallClientOptions options = {
      .request = incoming.request,
      .version = incoming.version,
      .principal = options_.context.principal,
      .seal = options_.dispatcher.seal(),
      .capabilities = CapabilitiesOf(incoming),
      .stop = call->stop_token(),
      .scrub = [this](json::Value& value) { options_.dispatcher.Scrub(value); }};
  if (options_.notify) {
    options.send = [this, call](const json::Value& message) {
      call->WhileOpen([&] { options_.notify(message); });
    };
  }
  if (IsModern(incoming.version)) {
    const json::Value* level = MetaMember(incoming.request, kLogLevelKey);
    if (level != nullptr && level->is_string())
      options.log_level = LogLevelNamed(level->get_string());
  } else {
    options.log_level = conversation_->log_level();
    // Over HTTP without a session, the client's answers come to other connections.
    if (options_.conversation != nullptr) options.conversation = conversation_.get();
  }
  const bool takes = TakesTasks(incoming) || WantedTaskOf(incoming.request, incoming.version).asks;
  if (takes && options_.dispatcher.TaskUseOf(incoming.request) != tools::TaskUse::kNever) {
    options.make_task = [this, &incoming, call] { return MakeTask(incoming, call); };
  }
  return options;
}

std::optional<RpcError> Connection::RefuseTaskUse(const Incoming& incoming) const {
  if (incoming.request.method != "tools/call") return std::nullopt;
  const tools::TaskUse use = options_.dispatcher.TaskUseOf(incoming.request);
  const bool asks = WantedTaskOf(incoming.request, incoming.version).asks;
  if (asks && (use == tools::TaskUse::kNever || options_.tasks == nullptr)) {
    return RpcError{Code::kMethodNotFound, "this tool does not run as a task"};
  }
  if (use != tools::TaskUse::kMust || asks || TakesTasks(incoming)) return std::nullopt;
  if (IsModern(incoming.version)) {
    return MissingCapability({{"extensions", json::Object{{kTasksExtension, json::Object()}}}});
  }
  return RpcError{Code::kMethodNotFound, "this tool runs only as a task"};
}

std::shared_ptr<Task> Connection::MakeTask(const Incoming& incoming,
                                           const std::shared_ptr<Call>& call) {
  if (options_.tasks == nullptr) return nullptr;
  const WantedTask wanted = WantedTaskOf(incoming.request, incoming.version);
  Result<std::shared_ptr<Task>> task =
      options_.tasks->Create(options_.context.principal, wanted.lifetime, call->stop_source());
  if (!task.ok()) return nullptr;
  conversation_->Close(incoming.request.id, *call);
  const std::string_view type = "task";
  json::Object created =
      options_.dispatcher.Complete(CreatedTask(**task, incoming.version), incoming.version, type);
  // The client may have cancelled the call in the meantime.
  if (call->Answer(ResultResponse(incoming.request.id, std::move(created)))) return *task;
  (*task)->Cancel();
  return nullptr;
}

std::function<void(const tools::Progress&)> Connection::ProgressOf(
    const Incoming& incoming, const std::shared_ptr<Call>& call, const CallClient& client) {
  const json::Value* token = MetaMember(incoming.request, "progressToken");
  const bool asked = token != nullptr && IsId(*token) && options_.notify;
  const bool may_be_task =
      options_.tasks != nullptr &&
      options_.dispatcher.TaskUseOf(incoming.request) != tools::TaskUse::kNever;
  if (!asked && !may_be_task) return nullptr;
  return [this, token = asked ? *token : json::Value(), version = incoming.version, call,
          &client](const tools::Progress& progress) {
    if (client.task() != nullptr) return client.task()->SetMessage(progress.message);
    if (token.is_null() || !call->Grows(progress.done)) return;
    json::Object params = {{"progressToken", token}, {"progress", NumberOf(progress.done)}};
    if (progress.total) params["total"] = NumberOf(*progress.total);
    if (!progress.message.empty() && HasProgressMessages(version)) {
      params["message"] = json::Text(progress.message);
    }
    call->WhileOpen(
        [&] { options_.notify(NotificationMessage("notifications/progress", std::move(params))); });
  };
}

std::optional<json::Object> Connection::CapabilitiesOf(const Incoming& incoming) const {
  if (!IsModern(incoming.version)) return conversation_->capabilities();
  const json::Value* declared = MetaMember(incoming.request, kCapabilitiesKey);
  return declared != nullptr && declared->is_object() ? declared->get_object() : json::Object();
}

bool Connection::TakesTasks(const Incoming& incoming) const {
  if (!IsModern(incoming.version) || options_.tasks == nullptr) return false;
  const std::optional<json::Object> capabilities = CapabilitiesOf(incoming);
  return ObjectMember(*capabilities, "extensions").contains(kTasksExtension);
}

void Connection::CancelAll() {
  conversation_->CancelAll(this);
}

Reply Connection::Single() {
  return [self = shared_from_this()](std::optional<json::Object> answer) {
    if (answer) self->options_.send(*std::move(answer));
  };
}

}  // namespace polybox::mcp
