// The secrets of agents as the settings and the environment give them, and what removes them from
// answers.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "config/settings.h"
#include "secrets/environment.h"
#include "secrets/scrubber.h"
#include "secrets/secret_store.h"
#include "workspace/workspace_set.h"

namespace polybox::cmd {

struct AgentSecrets {
  std::unique_ptr<secrets::SecretStore> store;
  /// Uses the store, so it is destroyed first.
  std::shared_ptr<secrets::Scrubber> scrubber;
  /// The directory without links in its path; "" if there is none. No jail may show it.
  std::string directory;
};

/// Opens the directory of secrets. Fails if commands of agents could see it, because it lies in a
/// workspace or in a directory that every jail shows.
Result<AgentSecrets> OpenSecrets(const config::Settings& settings,
                                 const std::vector<secrets::EnvironmentSecret>& environment,
                                 const workspace::WorkspaceSet& workspaces, const log::Logger& log);

}  // namespace polybox::cmd
