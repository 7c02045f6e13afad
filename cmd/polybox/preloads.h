// The setting `preload`: the modules that an interpreter loads when it is started ahead, and a
// check that it can load them.
#pragma once

#include "base/log.h"
#include "config/settings.h"
#include "exec/catalog.h"
#include "exec/engine.h"
#include "jail/grade.h"

namespace polybox::cmd {

/// Parses the setting. "python=numpy,pandas" is a language and its first module, then more of its
/// modules.
Result<exec::Preloads> PreloadsOf(const config::Settings& settings, const exec::Catalog& catalog);

struct PreloadCheck {
  exec::Executor& engine;
  const exec::Catalog& catalog;
  jail::Grade grade = jail::Grade::kNone;
  /// The number of the engine's lane for these checks.
  std::size_t lane = 0;
};

/// Tests each of the engine's preloads with a program of its language, in a usual jail. Logs which
/// modules cannot be loaded, and why. Does not wait for the results, because a server also starts
/// without preloads.
void CheckPreloads(const exec::EngineOptions& options, const PreloadCheck& check,
                   const log::Logger& log);

}  // namespace polybox::cmd
