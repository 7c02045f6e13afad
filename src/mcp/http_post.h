// The rules of MCP for a POST of streamable HTTP: what the header fields must say, and the status
// of an answer. Knows no HTTP library. Any thread.
#pragma once

#include <optional>
#include <string_view>
#include <variant>

#include "json/value.h"
#include "mcp/json_rpc.h"
#include "mcp/version.h"

namespace polybox::mcp {

/// The header fields of MCP; empty if the request lacks one.
struct PostHeaders {
  std::string_view version = {};  ///< MCP-Protocol-Version
  std::string_view method = {};   ///< Mcp-Method
  std::string_view name = {};     ///< Mcp-Name
};

/// What the body of a POST is, as far as it matters before it is answered.
struct PostFacts {
  /// The message names a version in `_meta`.
  bool modern = false;
  /// `_meta` has all that 2026-07-28 requires.
  bool has_modern_meta = false;
  /// The message or batch holds a request, so the answer has a body.
  bool has_request = false;
  /// The message is `initialize`: an older client begins a session.
  bool begins_session = false;
  /// The message is `subscriptions/listen`: only the client ends the answer.
  bool listens = false;
};

PostFacts LookAt(const json::Value& body);

/// Returns the version that the header settles on for a message without `_meta`: 2025-03-26 if
/// there is no header, because older clients send none. Nothing for a modern or unknown version.
std::optional<Version> SettledBy(const PostHeaders& headers);

/// Returns what the headers of a modern request do not say as the body does; nothing if all agree.
/// A gateway may have let the request pass because of its headers.
std::optional<RpcError> HeaderMismatch(const json::Value& body, const PostHeaders& headers);

/// Returns the status of an answer. `answer` is a response or a batch of responses.
int StatusOf(const json::Value& answer, const PostFacts& facts, std::optional<Version> settled);

}  // namespace polybox::mcp
