#include "http/doors/mcp.h"

#include <memory>
#include <mutex>
#include <utility>

#include "http/doors/door_row.h"
#include "http/sites.h"
#include "json/parse.h"
#include "json/write.h"
#include "mcp/connection.h"
#include "mcp/http_post.h"

namespace polybox::http {
namespace {

// A client that writes a file of 10 MB stays below it.
constexpr Bytes kLargestBody = Bytes::MiB(16);

Response JsonResponse(int status, const json::Value& body) {
  return {.status = status,
          .content_type = "application/json",
          .body = json::Write(body),
          .headers = {}};
}

Response ErrorOf(int status, mcp::Code code, std::string message) {
  return JsonResponse(status, mcp::ErrorResponse({}, {code, std::move(message)}));
}

bool IsJson(const Request& request) {
  std::string_view type = request.Header("Content-Type");
  type = type.substr(0, type.find(';'));
  while (type.ends_with(' ')) type.remove_suffix(1);
  return SameName(type, "application/json");
}

bool TakesEvents(const Request& request) {
  return request.Header("Accept").find("text/event-stream") != std::string_view::npos;
}

/// The answer to one POST. Any thread.
class PostAnswer {
 public:
  PostAnswer(std::shared_ptr<Exchange> exchange, const mcp::PostFacts& facts,
             std::optional<mcp::Version> settled)
      : exchange_(std::move(exchange)), facts_(facts), settled_(settled) {}

  /// Sends the answer to the request, which is the last message.
  void Finish(const json::Value& message) {
    const std::lock_guard lock(mutex_);
    finished_ = true;
    if (!begun_) {
      return exchange_->Respond(JsonResponse(mcp::StatusOf(message, facts_, settled_), message));
    }
    Write(message);
    exchange_->End();
  }
  /// Sends a notification before the answer.
  void Report(const json::Value& message) {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(begun_, true)) {
      exchange_->Begin({.status = 200,
                        .content_type = "text/event-stream",
                        .body = "",
                        // Proxies must pass each event on at once.
                        .headers = {{"Cache-Control", "no-store"}, {"X-Accel-Buffering", "no"}}});
    }
    Write(message);
  }
  /// Ends a POST whose messages have no answer.
  void Accept() {
    const std::lock_guard lock(mutex_);
    if (finished_) return;
    exchange_->Respond({.status = 202, .content_type = "", .body = "", .headers = {}});
  }

 private:
  void Write(const json::Value& message) {
    exchange_->Write("event: message\ndata: " + json::Write(message) + "\n\n");
  }

  // Guards all members below; held during each call of the exchange, so events never mix.
  std::mutex mutex_;
  std::shared_ptr<Exchange> exchange_;
  mcp::PostFacts facts_;
  std::optional<mcp::Version> settled_;
  bool begun_ = false;
  bool finished_ = false;
};

mcp::ConnectionOptions ConnectionFor(const Request& request, const McpOptions& options,
                                     const std::shared_ptr<PostAnswer>& answer,
                                     std::optional<mcp::Version> settled) {
  mcp::ConnectionOptions connection = {
      .dispatcher = *options.dispatcher,
      .calls = *options.calls,
      .context = options.context,
      .send = [answer](const json::Value& message) { answer->Finish(message); },
      .settled = settled,
      .largest_message = kLargestBody};
  connection.context.principal = request.client;
  connection.context.origin.trace_parent = request.Header("traceparent");
  connection.context.origin.trace_state = request.Header("tracestate");
  if (TakesEvents(request)) {
    connection.notify = [answer](const json::Value& message) { answer->Report(message); };
  }
  return connection;
}

void Post(const std::shared_ptr<Exchange>& exchange, const McpOptions& options) {
  const Request& request = exchange->request();
  if (!IsJson(request)) {
    return exchange->Respond(
        ErrorOf(415, mcp::Code::kInvalidRequest, "the Content-Type must be application/json"));
  }
  Result<json::Value> body = json::Parse(request.body, {.size = kLargestBody});
  if (!body.ok()) {
    return exchange->Respond(ErrorOf(400, mcp::Code::kParseError, body.error().message()));
  }
  const mcp::PostHeaders headers = {.version = request.Header("MCP-Protocol-Version"),
                                    .method = request.Header("Mcp-Method"),
                                    .name = request.Header("Mcp-Name")};
  const mcp::PostFacts facts = mcp::LookAt(*body);
  const std::optional<mcp::Version> settled = mcp::SettledBy(headers);
  const auto answer = std::make_shared<PostAnswer>(exchange, facts, settled);
  if (facts.modern) {
    if (auto wrong = mcp::HeaderMismatch(*body, headers)) {
      return exchange->Respond(
          JsonResponse(400, mcp::ErrorResponse(mcp::IdOf(*body), *std::move(wrong))));
    }
  }
  const std::shared_ptr<mcp::Connection> connection =
      mcp::Connection::Make(ConnectionFor(request, options, answer, settled));
  connection->Take(std::move(body).value(), request.body.size());
  if (!facts.has_request) return answer->Accept();
  // The running call keeps the connection.
  exchange->OnDisconnect([weak = std::weak_ptr(connection)] {
    if (const auto held = weak.lock()) held->CancelAll();
  });
}

/// Returns the answer to a request that the server refuses, in the words of JSON-RPC.
Response McpFault(Fault fault, const Request& request) {
  switch (fault) {
    case Fault::kNotFound:
      return ErrorOf(404, mcp::Code::kInvalidRequest, "not found");
    case Fault::kMethodNotAllowed:
      return ErrorOf(405, mcp::Code::kInvalidRequest,
                     "only POST is allowed: there are no sessions");
    case Fault::kBodyTooLarge:
      return ErrorOf(413, mcp::Code::kInvalidRequest,
                     "the message is longer than " + FormatBytes(kLargestBody));
    case Fault::kOverloaded:
      return ErrorOf(503, mcp::Code::kBusy, "the server is busy; try again later");
    case Fault::kUnauthorized:
      return ErrorOf(401, mcp::Code::kInvalidRequest, "a token is required");
    case Fault::kForeignHost:
    case Fault::kForeignOrigin:
      return ErrorOf(403, mcp::Code::kInvalidRequest, SiteComplaint(fault, request));
    case Fault::kDraining:
      return ErrorOf(503, mcp::Code::kBusy, "the server is about to end");
    case Fault::kInternal:
      break;
  }
  return ErrorOf(500, mcp::Code::kInternalError, "internal error");
}

}  // namespace

Door MakeMcpDoor(const McpOptions& options) {
  Door door;
  door.name = "mcp";
  door.refuse = McpFault;
  door.fault_prefixes = {"/mcp"};
  door.facts = {{"largest_body", std::to_string(kLargestBody.count())}};
  if (options.dispatcher == nullptr) return door;
  door.routes = {{.method = "POST",
                  .path = "/mcp",
                  .handler = [options](const auto& exchange) { Post(exchange, options); },
                  .largest_body = kLargestBody.count()}};
  return door;
}

constinit const DoorRow kMcpDoor = {
    .name = "mcp",
    .make = [](const DoorParts& parts) -> Result<Door> { return MakeMcpDoor(parts.mcp); }};

}  // namespace polybox::http
