#include "agent_secrets.h"

#include <cerrno>
#include <climits>
#include <cstdlib>

#include <fmt/format.h>

namespace polybox::cmd {
namespace {

bool IsInside(const std::string& path, const std::string& directory) {
  return path == directory || path.starts_with(directory == "/" ? "/" : directory + "/");
}

/// Returns the path without links; "" for none.
Result<std::string> RealDirectory(const std::string& path) {
  if (path.empty()) return std::string();
  char real[PATH_MAX];
  if (::realpath(path.c_str(), real) == nullptr) {
    return Error::FromErrno("secrets-dir: open " + path);
  }
  return std::string(real);
}

/// Fails if the directory is a part of what commands of agents see.
Status CheckHidden(const std::string& directory, const workspace::WorkspaceSet& workspaces) {
  std::vector<std::string> shown = {"/usr",   "/bin",   "/sbin",   "/lib",
                                    "/lib32", "/lib64", "/etc/ssl"};
  for (const auto& workspace : workspaces.all()) {
    shown.push_back(workspace->path());
    // Files in a directory that holds the workspace stay hidden, the workspace itself would not.
    if (!IsInside(workspace->path(), directory)) continue;
    return Error(ErrorKind::kInvalid,
                 fmt::format("secrets-dir: the workspace {} is in it", workspace->path()));
  }
  for (const std::string& each : shown) {
    if (!IsInside(directory, each)) continue;
    return Error(ErrorKind::kInvalid,
                 fmt::format("secrets-dir: {} is in {}, which commands of agents can read",
                             directory, each))
        .WithFix("move the secrets to a directory of their own, such as /run/polybox-secrets");
  }
  return {};
}

Result<std::vector<secrets::Pattern>> PatternsOf(const config::Settings& settings) {
  std::vector<secrets::Pattern> patterns;
  for (const std::string& text : settings.scrub_patterns) {
    POLYBOX_ASSIGN_OR_RETURN(secrets::Pattern pattern, secrets::ParsePattern(text));
    patterns.push_back(std::move(pattern));
  }
  return patterns;
}

void WarnOfShortValues(secrets::SecretStore& store, const log::Logger& log) {
  const auto values = store.Known();
  for (const secrets::KnownValue& known : *values) {
    if (known.value.size() >= secrets::kShortestValue) continue;
    log.Warn("the value of a secret is too short to be removed from answers of tools",
             {{"secret", known.name}, {"shortest", secrets::kShortestValue}});
  }
}

}  // namespace

Result<AgentSecrets> OpenSecrets(const config::Settings& settings,
                                 const std::vector<secrets::EnvironmentSecret>& environment,
                                 const workspace::WorkspaceSet& workspaces,
                                 const log::Logger& log) {
  AgentSecrets opened;
  POLYBOX_ASSIGN_OR_RETURN(opened.directory, RealDirectory(settings.secrets_dir));
  if (!opened.directory.empty()) {
    POLYBOX_RETURN_IF_ERROR(CheckHidden(opened.directory, workspaces));
  }
  POLYBOX_ASSIGN_OR_RETURN(
      opened.store,
      secrets::SecretStore::Open({.environment = environment, .directory = opened.directory}));
  secrets::ScrubberOptions scrubber = {.store = opened.store.get()};
  POLYBOX_ASSIGN_OR_RETURN(scrubber.patterns, PatternsOf(settings));
  if (settings.scrub == "on") {
    POLYBOX_ASSIGN_OR_RETURN(scrubber.shapes, secrets::BuiltinShapes());
  }
  opened.scrubber = std::make_shared<secrets::Scrubber>(std::move(scrubber));
  if (opened.store->configured()) WarnOfShortValues(*opened.store, log);
  return opened;
}

}  // namespace polybox::cmd
