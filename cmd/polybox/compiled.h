// What makes compile steps fast, as the settings ask for it.
#pragma once

#include <memory>

#include "base/log.h"
#include "command.h"
#include "config/settings.h"
#include "exec/compile_cache.h"
#include "exec/preparer.h"

namespace polybox::cmd {

/// Null when it is off. One that cannot be opened only costs time: the log says so.
std::unique_ptr<exec::CompileCache> OpenCompileCache(const config::Settings& settings,
                                                     const log::Logger& log);
/// The same for what compile steps find ready, which is kept beside it. `home` must outlive it.
std::unique_ptr<exec::Preparer> OpenPreparer(const exec::JailHome& home, exec::Preparer::Mode mode,
                                             const Context& context);

}  // namespace polybox::cmd
