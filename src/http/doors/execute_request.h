// Turns a body of POST /execute into a request of the engine. The text of an error is for the
// client, as the message of a 400.
#pragma once

#include <string_view>

#include "base/result.h"
#include "exec/request.h"
#include "http/doors/execute.h"
#include "http/doors/execute_body.h"

namespace polybox::http {

struct ExecuteOrder {
  exec::Request request;
  const LanguageFacts* language = nullptr;
  /// The timeout of the run step after all rules.
  Duration timeout{};
  /// Warnings about the request, for the answer.
  std::vector<std::string> warnings = {};
};

/// Checks the body and makes the request. `body.code` must be present. The returned `language`
/// points into `options`.
Result<ExecuteOrder> OrderFor(ExecuteBody body, const ExecuteOptions& options);

/// Returns the timeout for `seconds` as in the old contract, where 0 or less means the default. The
/// result is at most the largest allowed timeout.
Duration TimeoutFor(std::int64_t seconds, const ExecuteOptions& options);

/// Returns a file name in its shortest form, relative to the working directory. A name that leads
/// out of it is an error.
Result<std::string> CheckedFileName(std::string_view name);

}  // namespace polybox::http
