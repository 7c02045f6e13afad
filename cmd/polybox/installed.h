// The languages and their toolchains as a subcommand needs them: loaded by the settings in force.
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

/// An error means a bad language file.
Result<languages::Registry> LoadRegistry(const config::Settings& settings);
Result<Installed> LoadInstalled(const config::Settings& settings, const log::Logger& log);

languages::FinderOptions FinderFor(const config::Settings& settings);

/// $PATH of this process.
std::string SearchPath();

}  // namespace polybox::cmd
