#include "http/doors/mcp_answer.h"

#include <utility>

#include "http/sites.h"
#include "json/write.h"

namespace polybox::http {
namespace {

Response NotAllowed(const Request& request) {
  if (request.path != "/sse") {
    return McpError(405, mcp::Code::kInvalidRequest, "Method not allowed");
  }
  return {
      .status = 405, .content_type = "text/plain", .body = "Method not allowed\n", .headers = {}};
}

}  // namespace

Response McpResponse(int status, const json::Value& body) {
  return {.status = status,
          .content_type = "application/json",
          .body = json::Write(body),
          .headers = {}};
}

Response McpError(int status, mcp::Code code, std::string message) {
  return McpResponse(status, mcp::ErrorResponse({}, {code, std::move(message)}));
}

Response McpFault(Fault fault, const Request& request) {
  switch (fault) {
    case Fault::kNotFound:
      return McpError(404, mcp::Code::kInvalidRequest, "not found");
    case Fault::kMethodNotAllowed:
      return NotAllowed(request);
    case Fault::kBodyTooLarge:
      return McpError(413, mcp::Code::kInvalidRequest,
                      "the message is longer than " + FormatBytes(kLargestMcpBody));
    case Fault::kOverloaded:
      return McpError(503, mcp::Code::kBusy, "the server is busy; try again later");
    case Fault::kUnauthorized:
      return McpError(401, mcp::Code::kInvalidRequest, "a token is required");
    case Fault::kForeignHost:
    case Fault::kForeignOrigin:
      return McpError(403, mcp::Code::kInvalidRequest, SiteComplaint(fault, request));
    case Fault::kDraining:
      return McpError(503, mcp::Code::kBusy, "the server is about to end");
    case Fault::kInternal:
      break;
  }
  return McpError(500, mcp::Code::kInternalError, "internal error");
}

}  // namespace polybox::http
