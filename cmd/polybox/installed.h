// Loads languages and their toolchains by the settings, for subcommands.
#pragma once

#include "base/log.h"
#include "base/result.h"
#include "config/settings.h"
#include "languages/registry.h"
#include "languages/toolchain.h"

namespace polybox::cmd {

struct Installed {
  languages::Registry registry;
  languages::Toolchains toolchains;
};

/// Load the language files, or these and the toolchains. An error means a bad language file.
Result<languages::Registry> LoadRegistry(const config::Settings& settings);
Result<Installed> LoadInstalled(const config::Settings& settings, const log::Logger& log);

languages::FinderOptions FinderFor(const config::Settings& settings);

/// Returns $PATH of this process.
std::string SearchPath();

}  // namespace polybox::cmd
