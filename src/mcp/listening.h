// subscriptions/listen: an open request on whose stream the client is told which documents have
// changed. Any thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "mcp/call.h"
#include "mcp/conversation.h"
#include "mcp/documents.h"
#include "mcp/json_rpc.h"
#include "tools/context.h"

namespace polybox::mcp {

struct ListenOptions {
  const Request& request;
  const Documents& documents;
  const tools::Context& context;
  /// Sends a message on the stream of the request.
  SendMessage send;
};

/// Acknowledges the subscription and keeps it until the call is cancelled. Returns an error if the
/// request is not one; the caller then answers with it.
std::optional<RpcError> Listen(const ListenOptions& options, const std::shared_ptr<Call>& call);

}  // namespace polybox::mcp
