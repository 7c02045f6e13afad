// MCP over two pipes: one message per line. This is how an agent runs polybox as its child process.
#pragma once

#include "base/log.h"
#include "base/units.h"
#include "mcp/call_pool.h"
#include "mcp/dispatcher.h"
#include "mcp/tasks.h"

namespace polybox::mcp {

struct StdioOptions {
  const Dispatcher& dispatcher;
  /// Null: no call becomes a task.
  Tasks* tasks = nullptr;
  /// Given to each tool.
  tools::Context context;
  /// The client's messages and ours (borrowed). No other code may write to `out`.
  int in = -1;
  int out = -1;
  /// Readable when a signal asks the process to end (borrowed); -1 for none.
  int signals = -1;
  CallLimits calls = {};
  Bytes largest_message = Bytes::MiB(16);
  /// How long calls may go on after the end of the input. Clients close the input first and send
  /// SIGTERM after 2 s.
  Duration finish_time = std::chrono::milliseconds(1500);
  /// How long cancelled calls may take to return.
  Duration cancel_time = std::chrono::milliseconds(1500);
};

enum class StdioEnd {
  kFinished,  ///< All calls have ended.
  kStuck,     ///< A call did not return. The caller must end the process without destructors.
};

/// Serves one client until the end of its input, a signal, or until the client closes the output.
/// `calls` must outlive the process if the result is kStuck.
StdioEnd ServeStdio(const StdioOptions& options, CallPool& calls, const log::Logger& log);

}  // namespace polybox::mcp
