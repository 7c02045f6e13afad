// The engine of one `polybox run`: the engine of the server with the caches of the settings, for
// one language and one request.
#pragma once

#include <memory>
#include <optional>

#include "caches.h"
#include "command.h"
#include "exec/engine.h"
#include "exec/guest_egress.h"

namespace polybox::cmd {

class RunEngine {
 public:
  struct Options {
    /// The interpreter starts before it gets the program, as in the server.
    bool warm = false;
    /// The request has requirements.
    bool installs = false;
  };

  /// Starts threads. `catalog`, which contains `language`, and `context` must outlive the engine.
  /// Slots come from `home`.
  static Result<std::unique_ptr<RunEngine>> Make(const exec::Catalog& catalog,
                                                 const languages::Language& language,
                                                 launch::JailHome home, const Options& options,
                                                 const Context& context);

  exec::Executor& executor() { return *executor_; }
  const launch::JailHome& home() const { return home_; }

 private:
  RunEngine(const Context& context, launch::JailHome home);

  Status OpenPackages(const Options& options, const Context& context, exec::EngineOptions& engine);

  Caches caches_;
  launch::JailHome home_;
  std::unique_ptr<exec::GuestEgress> egress_;
  std::unique_ptr<compile::CompileCache> compiled_;
  std::unique_ptr<compile::Preparer> preparer_;
  std::unique_ptr<packages::PackageSource> packages_;
  /// Declared last, so that the engine ends before the objects that it uses.
  std::shared_ptr<exec::Executor> executor_;
};

}  // namespace polybox::cmd
