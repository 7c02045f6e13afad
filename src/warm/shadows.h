// Modules that a cold start would find in place of the modules that the zygote has loaded. Called
// in a guest, on the one thread that uses the warm library (library.h).
#pragma once

#include <string>
#include <string_view>

namespace polybox::warm {

/// Returns whether a module beside `program` takes precedence over one of `loaded`, a list of
/// names, each between spaces. Packages in the user's home do so too. Also true when that cannot be
/// found out.
bool IsShadowed(const std::string& program, std::string_view loaded);

}  // namespace polybox::warm
