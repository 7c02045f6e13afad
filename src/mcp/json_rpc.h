// The messages of JSON-RPC 2.0, without any method: what a received value is, and what an answer
// looks like. Any thread.
#pragma once

#include <optional>
#include <string>
#include <variant>

#include "json/value.h"

namespace polybox::mcp {

/// The codes of errors. The first five are those of JSON-RPC. -32000 to -32019 belong to
/// implementations, -32020 to -32099 to MCP.
enum class Code : int {
  kParseError = -32700,
  kInvalidRequest = -32600,
  kMethodNotFound = -32601,
  kInvalidParams = -32602,
  kInternalError = -32603,
  kBusy = -32000,              ///< Too many calls wait already.
  kResourceNotFound = -32002,  ///< Up to 2025-11-25; later versions have kInvalidParams.
  kHeaderMismatch = -32020,
  kMissingCapability = -32021,
  kUnsupportedVersion = -32022,
};

/// A failure of the protocol. Failures of tools are answers of the tool.
struct RpcError {
  Code code;
  std::string message;
  /// Left out if null.
  json::Value data = {};
};

/// The result of a request, or why it could not be answered.
using Outcome = std::variant<json::Object, RpcError>;

struct Request {
  /// IsId() holds for it.
  json::Value id;
  std::string method;
  json::Object params = {};
};

/// A message that is never answered.
struct Notification {
  std::string method;
  json::Object params = {};
};

/// The client's answer to a request of the server.
struct Response {
  std::optional<json::Value> id;
  Outcome outcome;
};

/// What is no message. The id is known only if it is readable.
struct Invalid {
  std::optional<json::Value> id;
  RpcError error;
};

using Message = std::variant<Request, Notification, Response, Invalid>;

/// Returns what the value is. It must not be an array: that is a batch.
Message ReadMessage(json::Value value);

/// Returns whether the value can be an id or a progress token: a string, or an integer of 64 bits.
/// Such a value is written exactly as it was received. A fraction or a larger number may lose
/// digits, and the client would not recognise its own id in the answer.
bool IsId(const json::Value& value);

/// Returns the id of a message; nothing if it is not readable.
std::optional<json::Value> IdOf(const json::Value& message);

/// Return a response as JSON. MCP leaves out the id of a message whose id is not readable.
json::Object ResultResponse(const json::Value& id, json::Object result);
json::Object ErrorResponse(const std::optional<json::Value>& id, RpcError error);
json::Object RequestMessage(const json::Value& id, std::string_view method, json::Object params);
json::Object NotificationMessage(std::string_view method, json::Object params);

}  // namespace polybox::mcp
