// Records each call of a tool for metrics, the audit log and spans. Any thread.
#pragma once

#include <functional>

#include "obs/tool_call.h"
#include "tools/tool.h"

namespace polybox::tools {

/// Called after each call, on the thread of the call. Must not block.
using RecordCall = std::function<void(const obs::ToolCall&)>;

/// Returns the tool, whose calls are recorded.
Tool Observed(Tool tool, RecordCall record);

}  // namespace polybox::tools
