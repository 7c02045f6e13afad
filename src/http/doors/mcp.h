// MCP over HTTP. POST /mcp ("streamable HTTP") takes the requests of every version: those of
// 2026-07-28 stand alone, and an older client may begin a session with `initialize`. An answer is
// JSON, or a stream of events if there is something to say before it. GET /mcp is the stream of a
// session, DELETE /mcp ends a session. GET /sse and POST /message are the transport of the first
// version (mcp_sse.h). A client that goes away cancels its calls.
#pragma once

#include "http/exchange.h"
#include "mcp/call_pool.h"
#include "mcp/dispatcher.h"
#include "mcp/tasks.h"
#include "tools/context.h"

namespace polybox::http {

struct DoorRow;
extern const DoorRow kMcpDoor;

struct McpOptions {
  /// Both must outlive the door and its calls. Null: the server offers no tools, and the door has
  /// no routes.
  const mcp::Dispatcher* dispatcher = nullptr;
  mcp::CallPool* calls = nullptr;
  /// Outlives the calls too. Null: no call becomes a task.
  mcp::Tasks* tasks = nullptr;
  /// Given to each tool, with the client as principal.
  tools::Context context = {};
};

Door MakeMcpDoor(const McpOptions& options);

}  // namespace polybox::http
