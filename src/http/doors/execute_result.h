// Results of the execute dialect: what the old contract has, in its order, and then what is added.
#pragma once

#include <string>

#include "exec/request.h"
#include "http/exchange.h"

namespace polybox::http {

/// What is said with a result beside the report.
struct ResultContext {
  std::string language;
  /// Of the run step.
  Duration timeout{};
};

/// The object, without a line end.
std::string ExecuteResult(const exec::Report& report, const ResultContext& context);

/// The result of a command of the Kubernetes runtime API: the same members with that API's exit
/// codes. `command` is what was asked for.
std::string CommandResult(const exec::Report& report, const ResultContext& context,
                          const std::string& command);
/// A command that never ran: its words make no sense.
std::string CommandFailure(const std::string& reason, const ResultContext& context,
                           jail::Grade isolation);

/// `{"error": message}`.
Response ExecuteError(int status, std::string_view message);
/// `capacity`: how many run at once.
Response ExecuteRefusal(const exec::Refusal& refusal, std::int64_t capacity);
Response ExecuteFault(Fault fault);

}  // namespace polybox::http
