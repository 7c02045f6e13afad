// Writes the answers of the run dialect.
#pragma once

#include <string>

#include "exec/request.h"
#include "http/doors/run_body.h"
#include "http/exchange.h"

namespace polybox::http {

/// Returns one of the dialect's errors. `code` determines the status and the message.
Response RunError(std::string_view code, const std::vector<std::string>& warnings = {});
Response RunValidationError(const RunComplaint& complaint,
                            const std::vector<std::string>& warnings = {});
Response RunFault(Fault fault, const Request& request);

/// What an answer needs besides the report.
struct RunContext {
  /// Whether the language has a compiler; the answer then always has a compile result.
  bool compiled = false;
  /// Warnings about the request.
  std::vector<std::string> warnings = {};
};
Response RunResponse(const exec::Report& report, const RunContext& context);
Response RunRefusal(const exec::Refusal& refusal, const std::vector<std::string>& warnings = {});

}  // namespace polybox::http
