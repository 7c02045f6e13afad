// The tools, documents and prompts that the conformance suite of MCP calls. A server offers them
// only with the hidden flag --conformance-fixtures. Their names, arguments and texts are those that
// the suite's scenarios describe. What they use (questions, tasks, progress, logs) is what the
// tools of agents use.
#pragma once

#include <memory>
#include <vector>

#include "tools/prompt.h"
#include "tools/resource.h"
#include "tools/tool.h"

namespace polybox::conformance {

/// Returns all tools of this folder.
std::vector<tools::Tool> FixtureTools();
std::shared_ptr<const tools::ResourceSource> FixtureDocuments();
std::vector<tools::Prompt> FixturePrompts();

}  // namespace polybox::conformance
