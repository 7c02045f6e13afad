// Writes the results of the execute dialect: first the members of the old contract in their order,
// then the additional ones.
#pragma once

#include <string>

#include "exec/request.h"
#include "http/exchange.h"

namespace polybox::http {

/// What a result needs besides the report.
struct ResultContext {
  std::string language;
  /// The timeout of the run step.
  Duration timeout{};
  /// Warnings about the request.
  std::vector<std::string> warnings = {};
};

/// Returns the result as a JSON object without a line end.
std::string ExecuteResult(const exec::Report& report, const ResultContext& context);

/// Returns the result of a command of the Kubernetes runtime API: the same members, with that API's
/// exit codes. `command` is the command line of the request.
std::string CommandResult(const exec::Report& report, const ResultContext& context,
                          const std::string& command);
/// Returns the result of a command that did not run, because its command line cannot be parsed.
std::string CommandFailure(const std::string& reason, const ResultContext& context,
                           jail::Grade isolation);

/// Returns `{"error": message}`, with the warnings about the request.
Response ExecuteError(int status, std::string_view message,
                      const std::vector<std::string>& warnings = {});
/// Returns the answer to a refused request. `capacity` is how many requests run at once.
Response ExecuteRefusal(const exec::Refusal& refusal, std::int64_t capacity,
                        const std::vector<std::string>& warnings = {});
Response ExecuteFault(Fault fault, const Request& request);

}  // namespace polybox::http
