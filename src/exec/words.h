// Checks the arguments and environment variables that a request gives to its program. Used by the
// doors. Has no side effects; any thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace polybox::exec {

/// Returns an error of kind kInvalid that names the first argument or variable that the kernel or
/// the jail would not accept.
Status CheckWords(const std::vector<std::string>& args,
                  const std::map<std::string, std::string>& env);

}  // namespace polybox::exec
