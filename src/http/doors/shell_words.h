// Splits a command line into words like Python's shlex.split: quotes and backslashes have their
// meaning, nothing is expanded, and # starts no comment.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace polybox::http {

/// Returns the words. The error is in Python's words: "No closing quotation" or "No escaped
/// character".
Result<std::vector<std::string>> SplitShellWords(std::string_view text);

}  // namespace polybox::http
