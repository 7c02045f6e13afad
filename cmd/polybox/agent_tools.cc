#include "agent_tools.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "base/split.h"
#include "build_info.h"
#include "conformance/fixtures.h"
#include "egress.h"
#include "installed.h"
#include "isolation.h"
#include "net/egress_ledger.h"
#include "tools/all_tools.h"
#include "tools/change_watcher.h"
#include "tools/file_resource.h"
#include "tools/observe_calls.h"
#include "tools/output_resource.h"
#include "tools/registry.h"
#include "tools/scrub_answers.h"

namespace polybox::cmd {
namespace {

/// Returns the tools that the settings choose.
Result<tools::Registry> ToolsOf(const config::Settings& settings) {
  POLYBOX_ASSIGN_OR_RETURN(const tools::Registry all, tools::Registry::Make(tools::AllTools()));
  Result<tools::Registry> chosen = all.Select(Split(settings.tools, ',')).In("tools");
  if (!chosen.ok()) return chosen;
  return settings.readonly ? chosen->ReadOnly() : *std::move(chosen);
}

/// Returns the tools, whose answers have no secrets, and whose calls are recorded.
tools::Registry Guarded(const tools::Registry& tools, const AgentSecrets& secrets,
                        AgentObservers& observers) {
  return tools.Changed([&](tools::Tool tool) {
    return tools::Observed(tools::Scrubbed(std::move(tool), secrets.scrubber),
                           [&observers](const obs::ToolCall& call) { observers.Record(call); });
  });
}

/// Returns the figures of the scrubber for the metrics.
obs::AgentFigures FiguresOf(const AgentSecrets& secrets) {
  return {
      .scrub_hits =
          [scrubber = secrets.scrubber] {
            std::vector<obs::KeptCounters::Value> values;
            const secrets::Scrubber::Counts counts = scrubber->counts();
            for (const auto& [name, count] : counts.hits) {
              values.push_back({{name}, static_cast<double>(count)});
            }
            return values;
          },
      .scrubbed_bytes =
          [scrubber = secrets.scrubber] { return static_cast<double>(scrubber->counts().bytes); }};
}

/// Adds what the conformance suite of MCP calls.
Status AddFixtures(mcp::DispatcherOptions& offer) {
  std::vector<tools::Tool> all = offer.tools.tools();
  std::ranges::move(conformance::FixtureTools(), std::back_inserter(all));
  POLYBOX_ASSIGN_OR_RETURN(offer.tools, tools::Registry::Make(std::move(all)));
  offer.sources.insert(offer.sources.begin(), conformance::FixtureDocuments());
  offer.prompts = conformance::FixturePrompts();
  return {};
}

/// Returns what the server offers to agents.
Result<mcp::DispatcherOptions> OfferOf(tools::Registry tools, const config::Settings& settings,
                                       const AgentSecrets& secrets, AgentObservers& observers,
                                       Fixtures fixtures) {
  if (!secrets.store->configured()) tools = tools.Without(tools::Needs::kSecrets);
  mcp::DispatcherOptions offer = {
      .tools = std::move(tools),
      .structured_output = *mcp::StructuredOutputNamed(settings.structured_output),
      .version = kVersion,
      .scrub = [scrubber = secrets.scrubber](json::Value& value) {
        tools::ScrubJson(value, *scrubber);
      }};
  const std::shared_ptr<tools::ChangeWatcher> watcher = tools::ChangeWatcher::Make();
  offer.sources = {std::make_shared<tools::OutputResources>(watcher),
                   std::make_shared<tools::FileResources>(watcher)};
  if (fixtures == Fixtures::kYes) POLYBOX_RETURN_IF_ERROR(AddFixtures(offer));
  // Last, so that no tool and no source is left out.
  offer.tools = Guarded(offer.tools, secrets, observers);
  for (auto& source : offer.sources) source = tools::Scrubbed(std::move(source), secrets.scrubber);
  return offer;
}

Result<workspace::WorkspaceSet> WorkspacesOf(const config::Settings& settings) {
  workspace::WorkspaceOptions options;
  if (settings.readonly) options.access = workspace::Access::kReadOnly;
  POLYBOX_ASSIGN_OR_RETURN(options.protection,
                           workspace::ProtectedPaths::FromSetting(settings.protected_paths));
  if (settings.created_protected_files == "report") {
    options.created = workspace::CreatedFiles::kReport;
  }
  return workspace::WorkspaceSet::Open({.workspace = settings.workspace,
                                        .workspaces = settings.workspaces,
                                        .options = std::move(options)});
}

machine::MachineSettings MachineSettingsOf(const config::Settings& settings,
                                           const workspace::WorkspaceSet& workspaces) {
  machine::MachineSettings machines;
  machines.cache_dir = settings.cache_dir;
  machines.path = SearchPath();
  machines.as_root =
      settings.workspace_as_root ? machine::AsRoot::kAllow : machine::AsRoot::kRefuse;
  for (const auto& workspace : workspaces.all()) machines.closed.push_back(workspace->path());
  machines.limits = {.memory = settings.workspace_memory,
                     .processes = settings.workspace_processes,
                     .scratch = settings.workspace_tmp};
  machines.idle_time = settings.workspace_idle_time;
  return machines;
}

Result<std::unique_ptr<machine::Network>> NetworkOf(const config::Settings& settings,
                                                    MachineHome& home, const log::Logger& log) {
  return machine::Network::Make({.hosts = settings.workspace_egress,
                                 .clients = [&home] { return home.Clients(); },
                                 .learned_file = settings.cache_dir + "/registries.txt",
                                 .path = SearchPath(),
                                 .variable = Variable,
                                 .ledger = std::make_shared<net::EgressLedger>("workspace", log)},
                                log);
}

}  // namespace

Result<const launch::JailHome*> MachineHome::Find() {
  if (own_ != nullptr) return own_;
  const std::lock_guard lock(mutex_);
  if (!home_) home_ = HomeFor(settings_, log_);
  if (!home_->ok()) return home_->error();
  return &home_->value();
}

const Installed* MachineHome::FindInstalled() {
  if (!installed_) {
    installed_ = LoadInstalled(settings_, log_);
    if (!installed_->ok()) {
      log_.Warn("could not read the languages; commands see only what is on PATH",
                {{"why", installed_->error().message()}});
    }
  }
  return installed_->ok() ? &installed_->value() : nullptr;
}

machine::HostTools MachineHome::Tools() {
  const std::lock_guard lock(mutex_);
  machine::HostTools tools;
  const Installed* installed = FindInstalled();
  if (installed == nullptr) return tools;
  for (const languages::Language& language : installed->registry.all()) {
    const auto toolchain = installed->toolchains.find(language.id);
    if (toolchain == installed->toolchains.end() || !toolchain->second.ok()) continue;
    tools.toolchains.push_back(*toolchain->second);
    const auto& [read_only, caches] = language.project;
    tools.read_only.insert(tools.read_only.end(), read_only.begin(), read_only.end());
    tools.caches.insert(tools.caches.end(), caches.begin(), caches.end());
  }
  return tools;
}

std::vector<registries::Client> MachineHome::Clients() {
  const std::lock_guard lock(mutex_);
  const Installed* installed = FindInstalled();
  if (installed == nullptr) return {};
  return registries::ClientsOn(installed->registry.all(), installed->toolchains, SearchPath());
}

Result<std::unique_ptr<AgentTools>> MakeAgentTools(const Context& context,
                                                   const AgentToolsOptions& options) {
  const config::Settings& settings = context.config.settings;
  const log::Logger& log = context.log;
  // First, because a wrong name of a group is a usage error wherever polybox is started.
  POLYBOX_ASSIGN_OR_RETURN(tools::Registry chosen, ToolsOf(settings));
  POLYBOX_ASSIGN_OR_RETURN(workspace::WorkspaceSet workspaces, WorkspacesOf(settings));
  POLYBOX_ASSIGN_OR_RETURN(AgentSecrets secrets,
                           OpenSecrets(settings, context.secrets, workspaces, log));
  POLYBOX_ASSIGN_OR_RETURN(std::unique_ptr<AgentObservers> observers,
                           AgentObservers::Make(settings, FiguresOf(secrets), log));
  secrets.store->Watch(
      [observers = observers.get()](const secrets::Access& access) { observers->Record(access); });
  POLYBOX_ASSIGN_OR_RETURN(
      mcp::DispatcherOptions offer,
      OfferOf(std::move(chosen), settings, secrets, *observers, options.fixtures));
  auto home = std::make_unique<MachineHome>(settings, log, options.own);
  POLYBOX_ASSIGN_OR_RETURN(std::unique_ptr<machine::Network> network,
                           NetworkOf(settings, *home, log));
  machine::MachineSettings machines = MachineSettingsOf(settings, workspaces);
  machines.network = network.get();
  if (!secrets.directory.empty()) machines.closed.push_back(secrets.directory);
  machines.tools = [home = home.get()] { return home->Tools(); };
  return std::unique_ptr<AgentTools>(
      new AgentTools{.workspaces = std::move(workspaces),
                     .secrets = std::move(secrets),
                     .observers = std::move(observers),
                     .dispatcher = mcp::Dispatcher(std::move(offer), log),
                     .home = std::move(home),
                     .network = std::move(network),
                     .machine_settings = std::move(machines),
                     .verification = std::make_unique<verify::Verification>(
                         [&settings] { return LoadRegistry(settings); }, settings.cache_dir)});
}

}  // namespace polybox::cmd
