// Parses a file of requirements, one on each line, as Python projects have them. Has no side
// effects; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace polybox::packages {

/// Returns the requirements. Empty lines, and comments after a #, are left out. Lines with options
/// (-r, --index-url) are refused, because they would change the source of packages. `name` is the
/// file's name for messages.
Result<std::vector<std::string>> ParseRequirements(std::string_view text, const std::string& name);

}  // namespace polybox::packages
