// The words of errors about files of a workspace. Agents know them from other file tools: lower
// case, with the name of the call and the path. Any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace polybox::workspace {

/// Returns the meaning of an errno, such as "no such file or directory".
std::string SystemText(int system_errno);

/// Returns the error "CALL PATH: no such file or directory". `path` is shown as it is.
Error CallError(std::string_view call, std::string_view path, int system_errno);

}  // namespace polybox::workspace
