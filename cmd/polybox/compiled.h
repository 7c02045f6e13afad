// The compile cache that the settings ask for.
#pragma once

#include <memory>

#include "base/log.h"
#include "config/settings.h"
#include "exec/compile_cache.h"

namespace polybox::cmd {

/// Null when it is off. One that cannot be opened only costs time: the log says so.
std::unique_ptr<exec::CompileCache> OpenCompileCache(const config::Settings& settings,
                                                     const log::Logger& log);

}  // namespace polybox::cmd
