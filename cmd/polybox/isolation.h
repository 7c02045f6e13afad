// Chooses the isolation grade by the settings.
#pragma once

#include "base/log.h"
#include "base/result.h"
#include "config/settings.h"
#include "exec/ground.h"

namespace polybox::cmd {

/// Returns the grades that this host can give and the settings allow, or an error that says why
/// there is none. Only checks facts of the host. Any thread may call it, and HomeFor() too.
Result<exec::Descent> DescentFor(const config::Settings& settings);

/// Returns a jail home of the best grade in which a program actually runs. Logs a warning for each
/// better grade that fails.
Result<launch::JailHome> HomeFor(const config::Settings& settings, const log::Logger& log);

/// Logs why better grades were not used.
void TellPassedOver(const exec::Descent& descent, const log::Logger& log);

}  // namespace polybox::cmd
