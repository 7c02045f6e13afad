// Removes secrets from the answers of a tool and from its reports of progress. The registry of a
// server has only tools that went through Scrubbed(), so no tool can forget it. Any thread.
#pragma once

#include <memory>

#include "json/value.h"
#include "secrets/scrubber.h"
#include "tools/tool.h"

namespace polybox::tools {

/// Returns the tool with an answer without secrets. A tool whose row has `reveals_secrets` is
/// returned as it is.
Tool Scrubbed(Tool tool, std::shared_ptr<secrets::Scrubber> scrubber);

/// Removes secrets from all strings of a JSON value, names of members included. The text of a
/// member "blob" or "data" remains base64.
void ScrubJson(json::Value& value, secrets::Scrubber& scrubber);

}  // namespace polybox::tools
