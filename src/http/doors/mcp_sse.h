// The transport of MCP's first version: GET /sse opens a stream of events and names the path for
// the client's messages, POST /message takes them, and every answer comes on the stream. A session
// lasts as long as its stream. A client that goes away cancels its calls.
#pragma once

#include <vector>

#include "http/doors/mcp.h"
#include "http/exchange.h"

namespace polybox::http {

/// Returns the routes of the transport. The dispatcher of `options` is not null.
std::vector<Route> SseRoutes(const McpOptions& options);

}  // namespace polybox::http
