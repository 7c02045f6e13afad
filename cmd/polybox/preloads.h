// The setting `preload`: which modules an interpreter that is started ahead loads, and whether it
// can.
#pragma once

#include "base/log.h"
#include "config/settings.h"
#include "exec/catalog.h"
#include "exec/engine.h"
#include "jail/grade.h"

namespace polybox::cmd {

/// "python=numpy,pandas": a language and its first module, then more of its modules.
Result<exec::Preloads> PreloadsOf(const config::Settings& settings, const exec::Catalog& catalog);

struct PreloadCheck {
  exec::Executor& engine;
  const exec::Catalog& catalog;
  jail::Grade grade = jail::Grade::kNone;
  /// Of the engine.
  std::size_t lane = 0;
};

/// Has each of the engine's preloads loaded by a program of its language, in a jail like all
/// others; the log says which could not be, and why. Waits for nothing: a server starts without
/// them.
void CheckPreloads(const exec::EngineOptions& options, const PreloadCheck& check,
                   const log::Logger& log);

}  // namespace polybox::cmd
