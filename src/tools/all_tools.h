// The tools that polybox ships. Made from the names of the files src/tools/*_tool.cc.
#pragma once

#include <vector>

#include "tools/tool.h"

namespace polybox::tools {

std::vector<Tool> AllTools();

}  // namespace polybox::tools
