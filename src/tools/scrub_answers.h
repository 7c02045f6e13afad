// Removes secrets from the answers of a tool, from its reports of progress, and from documents. A
// server has only tools and sources that went through Scrubbed(), so none can forget it. Any
// thread.
#pragma once

#include <memory>

#include "json/value.h"
#include "secrets/scrubber.h"
#include "tools/resource.h"
#include "tools/tool.h"

namespace polybox::tools {

/// Returns the tool with an answer without secrets. A tool whose row has `reveals_secrets` is
/// returned as it is.
Tool Scrubbed(Tool tool, std::shared_ptr<secrets::Scrubber> scrubber);

/// Returns the source with documents without secrets. A file of bytes keeps its length. Lists,
/// errors and values of variables are for ScrubJson().
std::shared_ptr<const ResourceSource> Scrubbed(std::shared_ptr<const ResourceSource> source,
                                               std::shared_ptr<secrets::Scrubber> scrubber);

/// Removes secrets from all strings of a JSON value, names of members included. The text of a
/// member "blob" or "data" remains base64.
void ScrubJson(json::Value& value, secrets::Scrubber& scrubber);

}  // namespace polybox::tools
