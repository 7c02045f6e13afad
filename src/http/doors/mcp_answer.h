// What the transports of MCP over HTTP have in common: answers in the words of JSON-RPC. Any
// thread.
#pragma once

#include <string>

#include "base/units.h"
#include "http/exchange.h"
#include "json/value.h"
#include "mcp/json_rpc.h"

namespace polybox::http {

/// The longest message. A client that writes a file of 10 MB stays below it.
inline constexpr Bytes kLargestMcpBody = Bytes::MiB(16);

Response McpResponse(int status, const json::Value& body);
/// Returns an answer that is an error without an id.
Response McpError(int status, mcp::Code code, std::string message);

/// Returns the answer to a request that the server refuses.
Response McpFault(Fault fault, const Request& request);

}  // namespace polybox::http
