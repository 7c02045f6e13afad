// Where packages come from and whom their installers may reach, as the settings say.
#pragma once

#include "config/settings.h"
#include "exec/package_source.h"

namespace polybox::cmd {

exec::PackageSourceOptions PackagesOf(const config::Settings& settings);

}  // namespace polybox::cmd
