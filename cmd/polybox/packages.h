// The package sources, and the hosts that package installers may reach, by the settings.
#pragma once

#include "config/settings.h"
#include "packages/package_source.h"

namespace polybox::cmd {

packages::PackageSourceOptions PackagesOf(const config::Settings& settings);

}  // namespace polybox::cmd
