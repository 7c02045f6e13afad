// Makes docs/tools.md from the tools. A test fails when the page in the repository is outdated.
#pragma once

#include <string>

#include "tools/registry.h"

namespace polybox::tools {

/// Returns the whole page.
std::string ReferencePage(const Registry& registry);

}  // namespace polybox::tools
