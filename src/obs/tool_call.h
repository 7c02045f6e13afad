// What is recorded about one call of a tool: names, sizes, outcome and duration, never arguments or
// answers. Metrics, the audit log and spans are made of it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/units.h"

namespace polybox::obs {

/// Where a call belongs in a trace of the client (W3C trace context).
struct TraceParent {
  /// 32 and 16 hexadecimal digits, not all zero.
  std::string trace_id;
  std::string span_id;
  bool sampled = true;
};

/// Returns nothing for a text that is no `traceparent` of version 00 or later.
std::optional<TraceParent> ParseTraceParent(std::string_view text);

enum class CallStatus {
  kOk,
  kError,
  kDenied,   ///< The tool refused: the path is outside the workspace or protected.
  kTimeout,  ///< A time limit ended the command of the call.
};
/// Returns "ok", "error", "denied" or "timeout".
std::string_view NameOf(CallStatus status);

struct ToolCall {
  /// The name of a tool of polybox, never a text of the client.
  std::string tool;
  CallStatus status = CallStatus::kOk;
  /// The id of a language that the call was about; "" for none.
  std::string language = {};
  std::string principal = {};
  std::string workspace = {};
  /// "tools/call", and the version of MCP.
  std::string method = {};
  std::string protocol_version = {};
  std::string request_id = {};
  std::optional<TraceParent> parent = {};
  std::string trace_state = {};
  std::uint64_t argument_bytes = 0;
  std::uint64_t answer_bytes = 0;
  std::chrono::system_clock::time_point start = {};
  Duration time{};

  // What the metrics of single tools count.
  std::optional<std::int64_t> exit_code = {};
  std::uint64_t read_bytes = 0;
  std::uint64_t written_bytes = 0;
  std::uint64_t edited_bytes = 0;
  bool left_workspace = false;
  /// The same for calls of one tool with equal arguments, by which loops are noticed.
  std::uint64_t arguments_hash = 0;
};

}  // namespace polybox::obs
