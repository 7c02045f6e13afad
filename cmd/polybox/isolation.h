// The isolation grade as the settings ask for it.
#pragma once

#include "base/result.h"
#include "config/settings.h"
#include "jail/grade.h"

namespace polybox::cmd {

/// What this host can give of what the settings ask for, or why that is not enough. Forks: before
/// anything starts threads.
Result<jail::Grade> GradeFor(const config::Settings& settings);

}  // namespace polybox::cmd
