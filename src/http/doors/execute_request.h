// From a body of POST /execute to a request of the engine. An error is for the client: a 400 with
// its message.
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
  /// Of the run step, after all rules.
  Duration timeout{};
};

/// `body.code` is there. The language points into `options`.
Result<ExecuteOrder> OrderFor(ExecuteBody body, const ExecuteOptions& options);

/// `seconds` as the old contract reads it (0 and less is the default), cut to what is allowed.
Duration TimeoutFor(std::int64_t seconds, const ExecuteOptions& options);

/// A file's name in the working directory, in its shortest form; nothing that could lead out of it.
Result<std::string> CheckedFileName(std::string_view name);

}  // namespace polybox::http
