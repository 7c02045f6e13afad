// Words for the result of a run, for the log and the metrics. All words come from polybox; none
// contains text of a client or a guest.
#pragma once

#include <string>
#include <string_view>

#include "exec/engine.h"
#include "http/exchange.h"

namespace polybox::http {

/// Returns the name of a refusal, such as "busy" or "draining".
std::string_view RefusalName(exec::RefusalKind kind);
/// Returns the name of an outcome, such as "exited", "timed_out" or "compile_failed".
std::string OutcomeName(const exec::Report& report);
/// Returns the note about an answer. `language` is the id that the request names; "" for a command
/// of the runtime API. For a program that ran as its fallback language the note names that
/// language.
RunNote NoteOf(std::string language, const exec::Answer& answer);

}  // namespace polybox::http
