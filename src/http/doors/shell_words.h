// Splits a command line into words as Python's shlex.split does: quotes and backslashes are
// understood, nothing is expanded, and # is a character like any other.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace polybox::http {

/// The error is in Python's words: "No closing quotation", "No escaped character".
Result<std::vector<std::string>> SplitShellWords(std::string_view text);

}  // namespace polybox::http
