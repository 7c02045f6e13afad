// Runs the commands of the runtime API in the engine.
#pragma once

#include <utility>

#include "http/doors/runtime.h"

namespace polybox::http {

class EngineCommands : public CommandRunner {
 public:
  /// `executor` must outlive this object. `lane` is the lane number for commands.
  EngineCommands(exec::Executor& executor, std::size_t lane) : executor_(executor), lane_(lane) {}

  std::shared_ptr<exec::Ticket> Run(CommandRequest request, exec::Executor::Done done) override {
    exec::Request asked;
    asked.client = std::move(request.client);
    asked.lane = lane_;
    asked.work = exec::Command{std::move(request.argv)};
    asked.run.wall_time = request.timeout;
    asked.run_memory_from = "the setting command-memory";
    return executor_.Submit(std::move(asked), std::move(done));
  }

 private:
  exec::Executor& executor_;
  std::size_t lane_;
};

}  // namespace polybox::http
