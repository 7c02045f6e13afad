// POST /mcp: MCP over HTTP ("streamable HTTP"). Each request stands alone, and there are no
// sessions: an older client's `initialize` is answered and forgotten. An answer is JSON, or a
// stream of events if the client asked for reports of progress. A client that goes away cancels its
// calls.
#pragma once

#include "http/exchange.h"
#include "mcp/call_pool.h"
#include "mcp/dispatcher.h"
#include "tools/context.h"

namespace polybox::http {

struct DoorRow;
extern const DoorRow kMcpDoor;

struct McpOptions {
  /// Both must outlive the door and its calls. Null: the server offers no tools, and the door has
  /// no routes.
  const mcp::Dispatcher* dispatcher = nullptr;
  mcp::CallPool* calls = nullptr;
  /// Given to each tool, with the client as principal.
  tools::Context context = {};
};

Door MakeMcpDoor(const McpOptions& options);

}  // namespace polybox::http
