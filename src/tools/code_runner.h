// Runs programs outside of the workspaces, for execute_code. The server implements it with its
// execution engine. The request and the result are those of `POST /execute`, as JSON, so that the
// tool and the route cannot come to mean different things. Any thread.
#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/result.h"

namespace polybox::tools {

class CodeRunner {
 public:
  virtual ~CodeRunner() = default;

  /// What a caller hears and says while its program runs.
  struct Call {
    /// The caller; callers take turns where the server is busy.
    std::string principal;
    std::stop_token stop;
    /// Called with "queued", "installing", "compiling" or "running"; may be null.
    std::function<void(std::string_view stage)> on_stage;
  };

  /// Waits for the end of the program, which a requested stop brings about. An error is a wrong
  /// request, or a server that cannot run it now.
  virtual Result<std::string> Run(const std::string& body, const Call& call) = 0;
};

}  // namespace polybox::tools
