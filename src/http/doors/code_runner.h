// Runs the programs of the tool execute_code as POST /execute runs them: the same body, the same
// rules, the same result. Any thread.
#pragma once

#include <string>

#include "exec/engine.h"
#include "http/doors/execute.h"
#include "tools/code_runner.h"

namespace polybox::http {

class ExecuteRunner : public tools::CodeRunner {
 public:
  /// `executor` must outlive the object. Members of `options` that are about /health have no
  /// effect.
  ExecuteRunner(exec::Executor& executor, ExecuteOptions options)
      : executor_(executor), options_(std::move(options)) {}

  Result<std::string> Run(const std::string& body, const Call& call) override;

 private:
  exec::Executor& executor_;
  const ExecuteOptions options_;
};

}  // namespace polybox::http
