// Answers of the run dialect.
#pragma once

#include <string>

#include "exec/request.h"
#include "http/doors/run_body.h"
#include "http/exchange.h"

namespace polybox::http {

/// One of the dialect's errors; the code decides status and message.
Response RunError(std::string_view code);
Response RunValidationError(const RunComplaint& complaint);
Response RunFault(Fault fault);

/// `compiled`: whether the language has a compiler, whose result is then always there.
Response RunResponse(const exec::Report& report, bool compiled);
Response RunRefusal(const exec::Refusal& refusal);

}  // namespace polybox::http
