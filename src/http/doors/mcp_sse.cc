#include "http/doors/mcp_sse.h"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "http/doors/mcp_answer.h"
#include "http/doors/mcp_events.h"
#include "json/parse.h"
#include "mcp/connection.h"
#include "mcp/sessions.h"

namespace polybox::http {
namespace {

// Each session holds a connection, of which the server has 1024.
constexpr mcp::SessionLimits kLimits = {.of_principal = 64, .in_all = 256};
constexpr std::string_view kSessionKey = "sessionId=";

/// Returns the session that the query of the request target names; "" if there is none.
std::string_view SessionIdOf(std::string_view target) {
  std::string_view query = target.substr(std::min(target.find('?'), target.size()));
  while (!query.empty()) {
    query.remove_prefix(1);
    const std::string_view pair = query.substr(0, query.find('&'));
    if (pair.starts_with(kSessionKey)) return pair.substr(kSessionKey.size());
    query.remove_prefix(pair.size());
  }
  return {};
}

/// The open sessions and what their calls need.
class SseTransport {
 public:
  explicit SseTransport(const McpOptions& options) : options_(options) {}

  void Open(const std::shared_ptr<Exchange>& exchange) {
    // Servers of this transport do not insist on `initialize`.
    const std::shared_ptr<mcp::Session> session =
        sessions_.Begin(exchange->request().client, mcp::Version::k2024_11_05);
    if (session == nullptr) {
      return exchange->Respond(
          McpError(503, mcp::Code::kBusy, "too many sessions are open; end one and try again"));
    }
    // The odd mixture of line ends is what servers of this transport have always sent.
    const auto stream = std::make_shared<MessageStream>(
        exchange, "event: endpoint\ndata: /message?sessionId=" + session->id + "\r\n\r\n");
    session->conversation->OpenStream(
        [stream](const json::Value& message) { stream->Send(message); });
    exchange->OnDisconnect([weak = weak_, principal = session->principal, id = session->id] {
      if (const auto self = weak.lock()) self->sessions_.End(principal, id);
    });
  }

  void Receive(const std::shared_ptr<Exchange>& exchange) {
    const Request& request = exchange->request();
    const std::string_view id = SessionIdOf(request.target);
    if (id.empty()) return Refuse(*exchange, mcp::Code::kInvalidParams, "Missing sessionId");
    const std::shared_ptr<mcp::Session> session = sessions_.Find(request.client, id);
    if (session == nullptr) {
      return Refuse(*exchange, mcp::Code::kInvalidParams, "Invalid session ID");
    }
    Result<json::Value> body = json::Parse(request.body, {.size = kLargestMcpBody});
    if (!body.ok()) return Refuse(*exchange, mcp::Code::kParseError, "Parse error");
    exchange->Respond({.status = 202, .content_type = "", .body = "", .headers = {}});
    const auto send = [conversation = session->conversation](const json::Value& message) {
      conversation->Send(message);
    };
    mcp::ConnectionOptions connection = {.dispatcher = *options_.dispatcher,
                                         .calls = *options_.calls,
                                         .tasks = options_.tasks,
                                         .context = options_.context,
                                         .send = send,
                                         .notify = send,
                                         .conversation = session->conversation,
                                         .largest_message = kLargestMcpBody};
    connection.context.principal = request.client;
    connection.context.origin.trace_parent = request.Header("traceparent");
    connection.context.origin.trace_state = request.Header("tracestate");
    mcp::Connection::Make(std::move(connection))
        ->Take(std::move(body).value(), request.body.size());
  }

  static std::shared_ptr<SseTransport> Make(const McpOptions& options) {
    auto made = std::make_shared<SseTransport>(options);
    made->weak_ = made;
    return made;
  }

 private:
  static void Refuse(Exchange& exchange, mcp::Code code, std::string message) {
    exchange.Respond(McpError(400, code, std::move(message)));
  }

  const McpOptions options_;
  mcp::Sessions sessions_{kLimits};
  std::weak_ptr<SseTransport> weak_;
};

}  // namespace

std::vector<Route> SseRoutes(const McpOptions& options) {
  const std::shared_ptr<SseTransport> transport = SseTransport::Make(options);
  return {{.method = "GET",
           .path = "/sse",
           .handler = [transport](const auto& exchange) { transport->Open(exchange); },
           .answer_end = AnswerEnd::kClient},
          {.method = "POST",
           .path = "/message",
           .handler = [transport](const auto& exchange) { transport->Receive(exchange); },
           .largest_body = kLargestMcpBody.count()}};
}

}  // namespace polybox::http
