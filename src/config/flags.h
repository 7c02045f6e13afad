// The table of settings as command-line flags. CLI11 stays in flags.cc and cmd/.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "config/settings.h"

namespace CLI {
class App;
}

namespace polybox::config {

/// Adds a flag per setting of `scope` to `app`; what is given is appended to `given`, which must
/// outlive the parsing.
void AddFlags(CLI::App& app, Scope scope, std::vector<std::pair<std::string, std::string>>& given);

}  // namespace polybox::config
