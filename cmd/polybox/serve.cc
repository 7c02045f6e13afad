// polybox serve: runs the engine and its doors until a signal ends the server.
#include "http/serve.h"

#include <algorithm>
#include <set>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "agent_tools.h"
#include "build_info.h"
#include "caches.h"
#include "command.h"
#include "complaint.h"
#include "egress.h"
#include "engine_settings.h"
#include "exec/engine.h"
#include "exec/mode.h"
#include "http/doors/code_runner.h"
#include "http/doors/door_table.h"
#include "http/doors/language_list.h"
#include "http/doors/why_not.h"
#include "http/measured_executor.h"
#include "installed.h"
#include "isolation.h"
#include "memory.h"
#include "packages.h"
#include "packages/importable.h"
#include "packages/package_source.h"
#include "preloads.h"
#include "serving.h"
#include "sys/own_limits.h"
#include "tools/workspace_list.h"

namespace polybox::cmd {
namespace {

using config::Settings;

http::RunBodyLimits RunBodyLimitsOf(const Settings& settings) {
  return {.max_body_size = settings.max_body_size.count(),
          .max_files = static_cast<std::size_t>(settings.max_files),
          .max_file_size = settings.max_file_size.count(),
          .max_stdin_size = settings.max_stdin_size.count(),
          .output_limit = settings.output_limit.count(),
          .run_timeout = settings.run_timeout,
          .compile_timeout = settings.compile_timeout};
}

/// Returns the settings of the doors.
http::DoorSettings DoorSettingsOf(const config::Loaded& config) {
  const Settings& settings = config.settings;
  return {.usual_lane = {.name = "",
                         .concurrency = PlacesOf(settings),
                         .queue = config::QueueLength(config)},
          .run_lane = {.name = "",
                       .concurrency = settings.max_concurrency,
                       .queue = settings.max_queue_size,
                       .queue_time = settings.queue_timeout},
          .run_limits = RunBodyLimitsOf(settings),
          .largest_timeout = settings.max_timeout,
          .command_timeout = settings.command_timeout,
          .output_directory = settings.output_dir,
          .metrics = settings.metrics};
}

/// The ledgers of the network access of jails.
struct Ledgers {
  explicit Ledgers(const log::Logger& log)
      : installers(std::make_shared<net::EgressLedger>("installer", log)),
        guests(std::make_shared<net::EgressLedger>("guest", log)) {}

  std::shared_ptr<net::EgressLedger> installers;
  std::shared_ptr<net::EgressLedger> guests;
};

packages::PackageSourceOptions WithLedger(packages::PackageSourceOptions options,
                                          const Ledgers& ledgers) {
  options.ledger = ledgers.installers;
  return options;
}

/// Opens the directory of the runtime API, and sets how `engine` runs commands in it.
Result<http::CommandFiles> CommandFilesOf(const Context& context, const launch::JailHome& home,
                                          exec::EngineOptions& engine) {
  const Settings& settings = context.config.settings;
  const std::string path = settings.base_dir.empty() ? Settings().base_dir : settings.base_dir;
  POLYBOX_ASSIGN_OR_RETURN(http::BaseDirectory base, http::BaseDirectory::Open(path));
  http::CommandFiles files;
  files.limits = {settings.base_dir_size, settings.base_dir_files};
  const Status kept = base.KeepWithin(files.limits);
  POLYBOX_ASSIGN_OR_RETURN(const unsigned owner,
                           exec::TakeCommandDirectory(base.fd(), home.uids()));
  base.SetOwner(owner);
  engine.commands = exec::CommandDirectory{base.path(), path, owner,
                                           base.in_memory() ? files.limits.bytes : Bytes()};
  engine.commands->memory = settings.command_memory;
  files.directory = std::make_shared<const http::BaseDirectory>(std::move(base));
  if (!kept.ok()) {
    files.space = std::make_shared<exec::SpaceWatch>(files.directory->fd(), files.limits);
    engine.command_space = files.space.get();
    context.log.Warn(
        "the kernel does not limit the size of the base directory, so polybox watches it",
        {{"base_dir", files.directory->path()}, {"reason", kept.error().message()}});
  }
  return files;
}

/// Tests repeatedly whether a program can run. The test happens every few seconds while probes ask
/// for readiness, else once a minute, so that the result for the first probe is recent. The first
/// test is part of the start (HomeFor).
class Trials {
 public:
  Trials(const launch::JailHome& home, http::Readiness& readiness, const log::Logger& log)
      : thread_([&home, &readiness, &log](const std::stop_token& stop) {
          std::string told;
          while (readiness.AwaitQuestion(stop, kPauses)) {
            const Status tried = exec::TrySlot(home);
            readiness.SetTrial(tried);
            const std::string why = tried.ok() ? "" : tried.error().message();
            if (why != told && !why.empty()) log.Error("no program can run", {{"why", why}});
            if (why != told && why.empty()) log.Info("programs can run again");
            told = why;
          }
        }) {}

 private:
  // A trial takes about 10 ms of processor time.
  static constexpr http::Readiness::Pauses kPauses = {.shortest = std::chrono::seconds(5),
                                                      .longest = std::chrono::minutes(1)};

  std::jthread thread_;
};

/// The objects that live as long as the server.
struct Parts {
  const Settings& settings;
  exec::Catalog catalog;
  exec::ModeCandidate mode;
  launch::JailHome home;
  http::DoorSettings doors;
  /// The packages that programs of the mode's language can import; absent when they are not known.
  std::optional<std::vector<std::string>> importable;
};

/// Returns what the doors say about each language that runs here.
std::vector<http::LanguageFacts> FactsOf(const Parts& parts) {
  std::vector<http::LanguageFacts> facts;
  for (const launch::Installation& installation : parts.catalog.available()) {
    facts.push_back(http::FactsOf(installation));
    const bool is_mode = facts.back().id == parts.mode.language;
    if (is_mode && parts.importable) facts.back().packages = *parts.importable;
  }
  return facts;
}

/// Whether the server installs packages on request.
enum class Installs { kNo, kYes };

/// Returns the answer to GET /languages.
std::string LanguageListOf(const Parts& parts, const std::vector<http::LanguageFacts>& facts,
                           Installs installs) {
  const Settings& settings = parts.settings;
  Result<std::set<std::string>> wanted = RequirementsFor(settings, parts.catalog.registry());
  const bool has_namespaces = jail::HasNamespaces(parts.home.grade());
  std::vector<http::ListedLanguage> listed = http::ListLanguages(
      parts.catalog,
      {.warm = settings.warm == "on" && has_namespaces,
       .requirements_for = wanted.ok() ? *std::move(wanted) : std::set<std::string>(),
       .installs = installs == Installs::kYes && has_namespaces,
       .path = SearchPath()});
  for (http::ListedLanguage& each : listed) {
    const auto known = std::ranges::find(facts, each.id, &http::LanguageFacts::id);
    if (known != facts.end()) each.packages = known->packages;
  }
  return http::LanguageListJson(listed, parts.mode.mode, parts.mode.language);
}

/// Returns what the doors know about languages. The result refers to the catalog of `parts`.
http::DoorLanguages DoorLanguagesOf(const Parts& parts, Installs installs) {
  http::DoorLanguages languages;
  languages.available = FactsOf(parts);
  languages.list = LanguageListOf(parts, languages.available, installs);
  languages.why_not = http::WhyNotIn(parts.catalog);
  languages.mode = parts.mode.mode;
  languages.language = parts.mode.language;
  return languages;
}

/// Returns the facts of the lines that a person sees after the start.
http::BannerFacts BannerOf(const Parts& parts) {
  http::BannerFacts facts;
  facts.version = kVersion;
  facts.mode = parts.mode.mode;
  for (const launch::Installation& each : parts.catalog.available()) {
    facts.languages.push_back(each.language.id);
  }
  facts.isolation = jail::GradeName(parts.home.grade());
  const languages::Language& language = parts.catalog.Find(parts.mode.language)->language;
  facts.example = language.mode->example;
  facts.example_language = language.id;
  facts.example_file = language.entry.file;
  return facts;
}

/// Chooses the mode and lists its packages. ImportableIn() needs a process without other slots, so
/// this function runs before the engine is made.
Result<Parts> MakeParts(const languages::Registry& registry, launch::JailHome home,
                        const Context& context) {
  const Settings& settings = context.config.settings;
  exec::Catalog catalog(registry, FinderFor(settings), context.log);
  POLYBOX_ASSIGN_OR_RETURN(
      exec::ModeCandidate mode,
      exec::ChooseMode(settings.mode,
                       exec::ModeCandidates(registry.all(), catalog.toolchains(), SearchPath())));
  auto importable = packages::ImportableIn(
      *catalog.Find(mode.language),
      {.home = home, .cache_file = settings.cache_dir + "/importable.json", .log = context.log});
  return Parts{settings,
               std::move(catalog),
               std::move(mode),
               std::move(home),
               DoorSettingsOf(context.config),
               std::move(importable)};
}

/// Returns the engine's options without the pointers to objects that must outlive the engine.
Result<exec::EngineOptions> EngineOptionsOf(const Parts& parts, const Context& context) {
  const Settings& settings = parts.settings;
  exec::EngineOptions options;
  options.lanes = http::LanesOf(parts.doors);
  POLYBOX_ASSIGN_OR_RETURN(options.requirements_for,
                           RequirementsFor(settings, parts.catalog.registry()));
  options.warm = settings.warm == "on";
  POLYBOX_ASSIGN_OR_RETURN(options.preloads, PreloadsOf(settings, parts.catalog));
  options.usual_run.output_directory = settings.output_dir;
  options.on_idle = GiveMemoryBack;
  // The checks of preloads run one after another, in a lane of their own, so they take no place of
  // a client.
  if (!options.preloads.empty()) options.lanes.push_back({.name = "preload", .queue = 4096});
  options.kept_language = parts.mode.language;
  options.kept = static_cast<std::size_t>(settings.warm_slots);
  options.idle_memory = settings.warm_memory;
  options.on_shared = [&context](const std::string& what) {
    context.log.Warn("guests share something with the host", {{"what", what}});
  };
  return options;
}

/// The objects behind the doors. All must outlive the server.
struct Behind {
  exec::Executor& executor;
  obs::Metrics& metrics;
  std::shared_ptr<http::Readiness> readiness;
  http::CommandFiles files;
  Installs installs = Installs::kNo;
  Fixtures fixtures = Fixtures::kNo;
  /// From http::StopSignals(); borrowed.
  int signals = -1;
};

/// Returns the tools of agents if a setting names a workspace, else null.
Result<std::unique_ptr<AgentTools>> AgentToolsFor(const Context& context,
                                                  const launch::JailHome& home, Fixtures fixtures) {
  const bool wanted = context.config.OriginOf("workspace").source != config::Source::kDefault ||
                      context.config.OriginOf("workspaces").source != config::Source::kDefault;
  if (!wanted) return std::unique_ptr<AgentTools>();
  return MakeAgentTools(context, {.own = &home, .fixtures = fixtures});
}

http::McpOptions McpOf(AgentTools& agents) {
  return {.dispatcher = &agents.dispatcher,
          .calls = &agents.calls,
          .tasks = &agents.tasks,
          .context = agents.context()};
}

/// `agents` must outlive the function that is returned.
http::WorkspaceLister ListerOf(AgentTools& agents) {
  return [&agents](const std::string& principal) {
    tools::Context context = agents.context();
    context.principal = principal;
    std::vector<tools::ListedWorkspace> listed = tools::ListWorkspaces(context);
    for (tools::ListedWorkspace& workspace : listed) {
      for (tools::ListedCommand& each : workspace.commands) {
        if (auto scrubbed = agents.secrets.scrubber->Scrub(each.command)) {
          each.command = *std::move(scrubbed);
        }
      }
    }
    return listed;
  };
}

/// Adds the figures of calls of tools. `agents` must live while the metrics are served.
void ShowAgents(obs::Metrics& metrics, AgentTools& agents) {
  metrics.AddPage([observers = agents.observers.get()](std::string& text) {
    observers->metrics().AppendTo(text);
  });
  metrics.AddGauge("sandbox_background_shells", "Commands of agents that still run.",
                   [shells = &agents.shells] { return static_cast<double>(shells->Running()); });
}

/// Makes all doors and serves them until a signal ends the server. Returns the exit code.
Result<int> AnswerRequests(const Parts& parts, const Behind& behind, const Context& context) {
  POLYBOX_ASSIGN_OR_RETURN(const std::unique_ptr<AgentTools> agents,
                           AgentToolsFor(context, parts.home, behind.fixtures));
  http::DoorParts door_parts = {.settings = parts.doors,
                                .executor = behind.executor,
                                .metrics = behind.metrics,
                                .readiness = behind.readiness,
                                .languages = DoorLanguagesOf(parts, behind.installs),
                                .files = behind.files,
                                .isolation = parts.home.grade(),
                                .version = std::string(kVersion),
                                .needs_token = !parts.settings.token_file.empty()};
  if (agents != nullptr) {
    agents->code =
        std::make_unique<http::ExecuteRunner>(behind.executor, http::ExecuteOptionsFor(door_parts));
    door_parts.mcp = McpOf(*agents);
    door_parts.list_workspaces = ListerOf(*agents);
    ShowAgents(behind.metrics, *agents);
  }
  POLYBOX_ASSIGN_OR_RETURN(std::vector<http::Door> doors, http::MakeDoors(std::move(door_parts)));
  return ServeUntilSignalled({.doors = std::move(doors),
                              .executor = behind.executor,
                              .metrics = behind.metrics,
                              .readiness = behind.readiness,
                              .signals = behind.signals,
                              .banner = BannerOf(parts)},
                             context);
}

/// Makes all parts in the order in which they depend on each other, and serves. The destructors run
/// in the opposite order.
Result<int> Serve(const Context& context, Fixtures fixtures) {
  KeepFreedMemory();
  const Settings& settings = context.config.settings;
  // These calls come before any thread is started: RaiseOpenFiles() requires it, and threads
  // inherit the signal mask of StopSignals().
  if (const Status raised = sys::RaiseOpenFiles(); !raised.ok()) {
    context.log.Warn("could not raise the limit of open files",
                     {{"why", raised.error().message()}});
  }
  POLYBOX_ASSIGN_OR_RETURN(const UniqueFd signals, http::StopSignals());
  POLYBOX_ASSIGN_OR_RETURN(launch::JailHome home, HomeFor(settings, context.log));
  const jail::Grade grade = home.grade();
  const Ledgers ledgers(context.log);
  POLYBOX_ASSIGN_OR_RETURN(const std::unique_ptr<exec::GuestEgress> guest_egress,
                           GuestEgressFor(settings, grade, ledgers.guests));
  POLYBOX_ASSIGN_OR_RETURN(const languages::Registry registry, LoadRegistry(settings));
  POLYBOX_ASSIGN_OR_RETURN(const Parts parts, MakeParts(registry, std::move(home), context));
  const Caches caches(context, [&context](const Error& error) {
    context.log.Warn(error.message(), {{"fix", error.fix()}});
  });
  POLYBOX_ASSIGN_OR_RETURN(
      const std::unique_ptr<packages::PackageSource> packages,
      caches.OpenPackages(parts.home, WithLedger(PackagesOf(settings), ledgers)));
  const std::unique_ptr<compile::CompileCache> compiled = caches.OpenCompileCache();
  if (compiled != nullptr) compiled->CleanUp();
  const std::unique_ptr<compile::Preparer> preparer =
      caches.OpenPreparer(parts.home, compile::Preparer::Mode::kMake);
  POLYBOX_ASSIGN_OR_RETURN(exec::EngineOptions options, EngineOptionsOf(parts, context));
  options.packages = packages.get();
  options.guest_egress = guest_egress.get();
  if (guest_egress != nullptr) {
    context.log.Info("guests may reach hosts",
                     {{"hosts", fmt::format("{}", fmt::join(settings.guest_egress, ","))}});
  }
  options.compile_cache = compiled.get();
  options.preparer = preparer.get();
  POLYBOX_ASSIGN_OR_RETURN(const http::CommandFiles files,
                           CommandFilesOf(context, parts.home, options));
  // Declared before the engine, because the engine's destructor counts the requests that it
  // cancels.
  obs::Metrics metrics;
  const std::shared_ptr<exec::Executor> engine =
      exec::MakeEngine(parts.catalog, parts.home, options);
  // The lane of the checks is the last one, if there is something to check.
  CheckPreloads(options, {*engine, parts.catalog, grade, options.lanes.size() - 1}, context.log);
  ShowEgress(metrics, {ledgers.installers, ledgers.guests});
  http::MeasuredExecutor measured(*engine, metrics, options.lanes);
  const auto readiness = std::make_shared<http::Readiness>(
      http::Readiness::Options{.cache_dir = caches.usable() ? settings.cache_dir : ""});
  const Trials trials(parts.home, *readiness, context.log);
  return AnswerRequests(parts,
                        {.executor = measured,
                         .metrics = metrics,
                         .readiness = readiness,
                         .files = files,
                         .installs = packages != nullptr ? Installs::kYes : Installs::kNo,
                         .fixtures = fixtures,
                         .signals = signals.get()},
                        context);
}

}  // namespace

Subcommand ServeCommand() {
  auto fixtures = std::make_shared<bool>(false);
  return {.name = "serve",
          .doc = "Answer requests over HTTP",
          .options = {{.name = "--conformance-fixtures",
                       .doc = "Offer the fixtures of MCP's conformance suite too",
                       .into = fixtures,
                       .hidden = true}},
          .run = [fixtures](const Context& context) -> int {
            const Result<int> code = Serve(context, *fixtures ? Fixtures::kYes : Fixtures::kNo);
            if (code.ok()) return *code;
            return Complain({.out = context.out, .err = context.err}, code.error());
          },
          .takes_server_settings = true,
          .takes_agent_settings = true};
}

}  // namespace polybox::cmd
