// Makes the line that ends a program's error output when the compiler of its fallback language was
// ended by a limit or a signal. The server then does not know whether the fallback language accepts
// the program. Used by the engine.
#pragma once

#include <string>
#include <string_view>

#include "exec/request.h"

namespace polybox::exec {

/// Returns the line for the compile step of `language`, with its line end. Returns "" when the
/// compiler ended by itself and had enough memory.
std::string FallbackNote(std::string_view language, const StepReport& compile);

/// Adds the line about `second`, the report of `language`, to the error output of `first`, which is
/// the report that the client gets. Passes the line to `request.on_output` as well.
void NoteFallback(std::string_view language, const Report& second, const Request& request,
                  Report& first);

}  // namespace polybox::exec
