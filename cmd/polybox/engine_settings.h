// What the settings say about an execution engine, for all subcommands that have one.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "base/result.h"
#include "config/settings.h"
#include "languages/registry.h"

namespace polybox::cmd {

/// Returns how many programs run at once.
std::int64_t PlacesOf(const config::Settings& settings);

/// Returns the ids of the languages whose requirements are installed by the setting
/// `requirements-for`.
Result<std::set<std::string>> RequirementsFor(const config::Settings& settings,
                                              const languages::Registry& registry);

}  // namespace polybox::cmd
