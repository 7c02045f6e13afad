// Spans of tool calls in the JSON of OTLP (OpenTelemetry). Any thread.
#pragma once

#include <span>
#include <string>

#include "obs/tool_call.h"

namespace polybox::obs {

/// A call with the ids of its span.
struct Span {
  ToolCall call;
  /// Hexadecimal digits, 32 and 16.
  std::string trace_id;
  std::string span_id;
};

/// Returns the span of a call, below the client's span if the call has one. The ids are random.
Span MakeSpan(ToolCall call);

/// Returns the body of a request to /v1/traces.
std::string SpansJson(std::span<const Span> spans, const std::string& version);

}  // namespace polybox::obs
