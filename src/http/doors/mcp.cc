#include "http/doors/mcp.h"

#include <memory>
#include <mutex>
#include <utility>

#include "http/doors/door_row.h"
#include "http/doors/mcp_answer.h"
#include "http/doors/mcp_events.h"
#include "http/doors/mcp_sse.h"
#include "json/parse.h"
#include "mcp/connection.h"
#include "mcp/http_post.h"
#include "mcp/sessions.h"

namespace polybox::http {
namespace {

constexpr std::string_view kSessionHeader = "Mcp-Session-Id";

bool IsJson(const Request& request) {
  std::string_view type = request.Header("Content-Type");
  type = type.substr(0, type.find(';'));
  while (type.ends_with(' ')) type.remove_suffix(1);
  return SameName(type, "application/json");
}

bool TakesEvents(const Request& request) {
  return request.Header("Accept").find("text/event-stream") != std::string_view::npos;
}

/// What is known about a POST before it is answered.
struct PostPlan {
  mcp::PostFacts facts;
  std::optional<mcp::Version> settled;
  /// The session that the request belongs to or begins; null if it stands alone.
  std::shared_ptr<mcp::Session> session = {};
};

/// The answer to one POST. Any thread.
class PostAnswer {
 public:
  PostAnswer(std::shared_ptr<Exchange> exchange, PostPlan plan)
      : exchange_(std::move(exchange)), plan_(std::move(plan)) {}

  /// Sends the answer to the request, which is the last message.
  void Finish(const json::Value& message) {
    const std::lock_guard lock(mutex_);
    finished_ = true;
    if (begun_) {
      WriteMessageEvent(*exchange_, message);
      return exchange_->End();
    }
    Response response = McpResponse(mcp::StatusOf(message, plan_.facts, plan_.settled), message);
    if (plan_.facts.begins_session && plan_.session != nullptr) {
      response.headers.emplace_back(kSessionHeader, plan_.session->id);
    }
    exchange_->Respond(std::move(response));
  }
  /// Sends a notification or a question before the answer.
  void Report(const json::Value& message) {
    const std::lock_guard lock(mutex_);
    Begin();
    WriteMessageEvent(*exchange_, message);
  }
  /// Ends the answer to a request that was cancelled.
  void Drop() {
    const std::lock_guard lock(mutex_);
    if (std::exchange(finished_, true)) return;
    Begin();
    exchange_->End();
  }
  /// The client is gone: a cancelled request has no answer that could be ended.
  void Leave() {
    const std::lock_guard lock(mutex_);
    finished_ = true;
  }
  /// Ends a POST whose messages have no answer.
  void Accept() {
    const std::lock_guard lock(mutex_);
    if (finished_) return;
    exchange_->Respond({.status = 202, .content_type = "", .body = "", .headers = {}});
  }

 private:
  /// Needs the lock.
  void Begin() {
    if (std::exchange(begun_, true)) return;
    Response head = EventStreamHead();
    // A call ends its answer itself; a subscription goes on until its client ends it.
    if (!plan_.facts.listens) head.answer_end = AnswerEnd::kDoor;
    exchange_->Begin(std::move(head));
  }

  // Guards all members below; held during each call of the exchange, so events never mix.
  std::mutex mutex_;
  std::shared_ptr<Exchange> exchange_;
  PostPlan plan_;
  bool begun_ = false;
  bool finished_ = false;
};

/// "Streamable HTTP": the requests to /mcp.
class StreamableTransport {
 public:
  explicit StreamableTransport(const McpOptions& options) : options_(options) {}

  void Post(const std::shared_ptr<Exchange>& exchange) {
    const Request& request = exchange->request();
    if (!IsJson(request)) {
      return exchange->Respond(
          McpError(415, mcp::Code::kInvalidRequest, "the Content-Type must be application/json"));
    }
    Result<json::Value> body = json::Parse(request.body, {.size = kLargestMcpBody});
    if (!body.ok()) {
      return exchange->Respond(McpError(400, mcp::Code::kParseError, body.error().message()));
    }
    const mcp::PostHeaders headers = {.version = request.Header("MCP-Protocol-Version"),
                                      .method = request.Header("Mcp-Method"),
                                      .name = request.Header("Mcp-Name")};
    PostPlan plan = {.facts = mcp::LookAt(*body), .settled = mcp::SettledBy(headers)};
    if (plan.facts.modern) {
      if (auto wrong = mcp::HeaderMismatch(*body, headers)) {
        return exchange->Respond(
            McpResponse(400, mcp::ErrorResponse(mcp::IdOf(*body), *std::move(wrong))));
      }
    } else if (!FindSession(request, plan)) {
      return exchange->Respond(NoSession());
    }
    Answer(exchange, std::move(body).value(), std::move(plan));
  }

  /// Opens the stream on which a session gets what belongs to no request.
  void Get(const std::shared_ptr<Exchange>& exchange) {
    const Request& request = exchange->request();
    const std::string_view id = request.Header(kSessionHeader);
    if (id.empty()) return exchange->Respond(OnlyPost());
    const std::shared_ptr<mcp::Session> session = sessions_.Find(request.client, id);
    if (session == nullptr) return exchange->Respond(NoSession());
    if (!TakesEvents(request)) {
      return exchange->Respond(
          McpError(406, mcp::Code::kInvalidRequest, "the client must accept text/event-stream"));
    }
    if (session->conversation->has_stream()) return exchange->Respond(HasStream());
    const auto stream = std::make_shared<MessageStream>(exchange, ": open\n\n");
    if (!session->conversation->OpenStream(
            [stream](const json::Value& message) { stream->Send(message); })) {
      return;
    }
    exchange->OnDisconnect([weak = std::weak_ptr(session->conversation)] {
      if (const auto conversation = weak.lock()) conversation->CloseStream();
    });
  }

  void Delete(const std::shared_ptr<Exchange>& exchange) {
    const Request& request = exchange->request();
    const std::string_view id = request.Header(kSessionHeader);
    if (id.empty()) return exchange->Respond(OnlyPost());
    if (!sessions_.End(request.client, id)) return exchange->Respond(NoSession());
    exchange->Respond({.status = 204, .content_type = "", .body = "", .headers = {}});
  }

 private:
  static Response NoSession() {
    return McpError(404, mcp::Code::kInvalidRequest,
                    "Session not found; send initialize to begin a new one");
  }
  static Response HasStream() {
    return McpError(409, mcp::Code::kInvalidRequest, "the session has a stream already");
  }
  static Response OnlyPost() {
    Response response =
        McpError(405, mcp::Code::kInvalidRequest, "only POST is allowed without a session");
    response.headers.emplace_back("Allow", "POST");
    return response;
  }

  /// Finds or begins the session of an older client. Returns false if there is none such.
  bool FindSession(const Request& request, PostPlan& plan) {
    const std::string_view id = request.Header(kSessionHeader);
    if (plan.facts.begins_session) {
      // Beyond the limits the client gets no session, which older versions also know.
      plan.session = sessions_.Begin(request.client);
      return true;
    }
    if (id.empty() || !plan.settled) return true;
    plan.session = sessions_.Find(request.client, id);
    return plan.session != nullptr;
  }

  mcp::ConnectionOptions ConnectionFor(const Request& request, const PostPlan& plan,
                                       const std::shared_ptr<PostAnswer>& answer) const {
    mcp::ConnectionOptions connection = {
        .dispatcher = *options_.dispatcher,
        .calls = *options_.calls,
        .tasks = options_.tasks,
        .context = options_.context,
        .send = [answer](const json::Value& message) { answer->Finish(message); },
        .drop = [answer] { answer->Drop(); },
        .settled = plan.settled,
        .conversation = plan.session == nullptr ? nullptr : plan.session->conversation,
        .largest_message = kLargestMcpBody};
    connection.context.principal = request.client;
    connection.context.origin.trace_parent = request.Header("traceparent");
    connection.context.origin.trace_state = request.Header("tracestate");
    if (TakesEvents(request)) {
      connection.notify = [answer](const json::Value& message) { answer->Report(message); };
    }
    return connection;
  }

  void Answer(const std::shared_ptr<Exchange>& exchange, json::Value body, PostPlan plan) const {
    const Request& request = exchange->request();
    const bool has_request = plan.facts.has_request;
    const auto answer = std::make_shared<PostAnswer>(exchange, plan);
    const std::shared_ptr<mcp::Connection> connection =
        mcp::Connection::Make(ConnectionFor(request, plan, answer));
    connection->Take(std::move(body), request.body.size());
    if (!has_request) return answer->Accept();
    // The running call keeps the connection.
    exchange->OnDisconnect([weak = std::weak_ptr(connection), left = std::weak_ptr(answer)] {
      if (const auto held = left.lock()) held->Leave();
      if (const auto held = weak.lock()) held->CancelAll();
    });
  }

  const McpOptions options_;
  mcp::Sessions sessions_;
};

std::vector<Route> StreamableRoutes(const McpOptions& options) {
  const auto transport = std::make_shared<StreamableTransport>(options);
  return {{.method = "POST",
           .path = "/mcp",
           .handler = [transport](const auto& exchange) { transport->Post(exchange); },
           .largest_body = kLargestMcpBody.count()},
          {.method = "GET",
           .path = "/mcp",
           .handler = [transport](const auto& exchange) { transport->Get(exchange); },
           .answer_end = AnswerEnd::kClient},
          {.method = "DELETE", .path = "/mcp", .handler = [transport](const auto& exchange) {
             transport->Delete(exchange);
           }}};
}

}  // namespace

Door MakeMcpDoor(const McpOptions& options) {
  Door door;
  door.name = "mcp";
  door.refuse = McpFault;
  door.fault_prefixes = {"/mcp", "/sse", "/message"};
  door.facts = {{"largest_body", std::to_string(kLargestMcpBody.count())}};
  if (options.dispatcher == nullptr) return door;
  door.routes = StreamableRoutes(options);
  for (Route& route : SseRoutes(options)) door.routes.push_back(std::move(route));
  return door;
}

constinit const DoorRow kMcpDoor = {
    .name = "mcp",
    .make = [](const DoorParts& parts) -> Result<Door> { return MakeMcpDoor(parts.mcp); }};

}  // namespace polybox::http
