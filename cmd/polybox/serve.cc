// polybox serve: the engine behind its front doors, until it is told to end.
#include "http/serve.h"

#include <algorithm>
#include <set>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "build_info.h"
#include "caches.h"
#include "command.h"
#include "egress.h"
#include "exec/engine.h"
#include "exec/mode.h"
#include "exec/package_source.h"
#include "http/doors/engine_commands.h"
#include "http/doors/execute.h"
#include "http/doors/run.h"
#include "http/doors/runtime.h"
#include "http/measured_executor.h"
#include "installed.h"
#include "isolation.h"
#include "memory.h"
#include "packages.h"
#include "preloads.h"
#include "serving.h"
#include "sys/own_limits.h"

namespace polybox::cmd {
namespace {

using config::Settings;

// The lanes of the engine, in this order.
constexpr std::size_t kExecuteLane = 0;
constexpr std::size_t kRunLane = 1;
constexpr std::size_t kCommandLane = 2;
constexpr std::size_t kPreloadLane = 3;  // only where there are preloads

std::int64_t PlacesOf(const Settings& settings) {
  if (settings.max_concurrent > 0) return settings.max_concurrent;
  return std::max<std::int64_t>(3,
                                2 * static_cast<std::int64_t>(std::thread::hardware_concurrency()));
}

std::vector<exec::Lane> LanesOf(const config::Loaded& config) {
  const Settings& settings = config.settings;
  return {
      {.name = "execute", .concurrency = PlacesOf(settings), .queue = config::QueueLength(config)},
      {.name = "run",
       .concurrency = settings.max_concurrency,
       .queue = settings.max_queue_size,
       .queue_time = settings.queue_timeout},
      {.name = "command", .concurrency = PlacesOf(settings), .queue = config::QueueLength(config)}};
}

std::vector<http::LanguageFacts> FactsOf(const exec::Catalog& catalog) {
  std::vector<http::LanguageFacts> facts;
  for (const exec::Installation& installation : catalog.available()) {
    facts.push_back(http::FactsOf(installation));
  }
  return facts;
}

http::RunLimits RunLimitsOf(const Settings& settings) {
  return {.max_body_size = settings.max_body_size.count(),
          .max_files = static_cast<std::size_t>(settings.max_files),
          .max_file_size = settings.max_file_size.count(),
          .max_stdin_size = settings.max_stdin_size.count(),
          .output_limit = settings.output_limit.count(),
          .run_timeout = settings.run_timeout,
          .compile_timeout = settings.compile_timeout};
}

/// What is written down about the networks of jails.
struct Ledgers {
  explicit Ledgers(const log::Logger& log)
      : installers(std::make_shared<net::EgressLedger>("installer", log)),
        guests(std::make_shared<net::EgressLedger>("guest", log)) {}

  std::shared_ptr<net::EgressLedger> installers;
  std::shared_ptr<net::EgressLedger> guests;
};

exec::PackageSourceOptions WithLedger(exec::PackageSourceOptions options, const Ledgers& ledgers) {
  options.ledger = ledgers.installers;
  return options;
}

/// The ids of the languages that the setting names.
Result<std::set<std::string>> RequirementsFor(const Settings& settings,
                                              const languages::Registry& registry) {
  std::set<std::string> ids;
  for (const std::string& name : settings.requirements_for) {
    const languages::Language* language = registry.Find(name);
    if (language == nullptr || !language->packages || !language->packages->requests ||
        !language->packages->requests->opt_in) {
      return Error(ErrorKind::kInvalid,
                   fmt::format("requirements-for: \"{}\" names no language whose requirements are "
                               "ignored by default",
                               name))
          .WithFix("write it like go");
    }
    ids.insert(language->id);
  }
  return ids;
}

http::Health HealthOf(const http::Readiness& readiness) {
  http::Health health;
  health.reasons = readiness.Obstacles();
  if (!health.reasons.empty()) health.status = http::HealthStatus::kUnhealthy;
  return health;
}

/// The directory of the runtime API, and how its commands are run.
Result<http::RuntimeOptions> RuntimeOf(const Context& context, jail::Grade grade,
                                       exec::EngineOptions& engine) {
  const Settings& settings = context.config.settings;
  const std::string path = settings.base_dir.empty() ? Settings().base_dir : settings.base_dir;
  POLYBOX_ASSIGN_OR_RETURN(http::BaseDirectory base, http::BaseDirectory::Open(path));
  http::RuntimeOptions options;
  options.space_limits = {settings.base_dir_size, settings.base_dir_files};
  const Status kept = base.KeepWithin(options.space_limits);
  POLYBOX_ASSIGN_OR_RETURN(const unsigned owner, exec::TakeCommandDirectory(base.fd()));
  base.SetOwner(owner);
  engine.commands = exec::CommandPlace{base.path(), path, owner,
                                       base.in_memory() ? options.space_limits.bytes : Bytes()};
  options.files = std::make_shared<const http::BaseDirectory>(std::move(base));
  if (!kept.ok()) {
    options.space = std::make_shared<exec::SpaceWatch>(options.files->fd(), options.space_limits);
    engine.command_space = options.space.get();
    context.log.Warn("no kernel keeps the base directory within its size: it is watched instead",
                     {{"base_dir", options.files->path()}, {"reason", kept.error().message()}});
  }
  options.capacity = PlacesOf(settings);
  options.isolation = grade;
  const auto timeout = http::ParseCommandTimeout(settings.command_timeout);
  if (timeout) {
    options.command_timeout = *timeout;
  } else {
    context.log.Warn("command-timeout is not a number above 0; 300 seconds hold",
                     {{"value", settings.command_timeout}});
  }
  return options;
}

/// What lives as long as the server.
struct Parts {
  const Settings& settings;
  exec::Catalog catalog;
  exec::ModeCandidate mode;
  exec::JailHome home;
  std::vector<exec::Lane> lanes;
};

struct Behind {
  exec::Executor& executor;
  http::CommandRunner& commands;
  http::RuntimeOptions runtime;
  obs::Metrics& metrics;
  std::shared_ptr<http::Readiness> readiness;
};

std::vector<http::Door> DoorsOf(const Parts& parts, const Behind& behind) {
  http::ExecuteOptions execute;
  execute.languages = FactsOf(parts.catalog);
  execute.why_not = [&catalog = parts.catalog](std::string_view name) -> std::string {
    const Error* why = catalog.WhyNot(name);
    return why == nullptr ? "" : fmt::format("{}; {}", why->message(), why->fix());
  };
  execute.mode = parts.mode.mode;
  execute.language = parts.mode.language;
  execute.lane = kExecuteLane;
  execute.capacity = parts.lanes[kExecuteLane].concurrency;
  execute.output_directory = parts.settings.output_dir;
  execute.largest_timeout = parts.settings.max_timeout;
  execute.isolation = parts.home.grade();
  execute.health = [readiness = behind.readiness] { return HealthOf(*readiness); };
  http::RunOptions run;
  run.languages = execute.languages;
  run.limits = RunLimitsOf(parts.settings);
  run.lane = kRunLane;
  if (parts.settings.metrics) {
    run.metrics = [&metrics = behind.metrics] { return metrics.Render(); };
  }
  return {http::MakeExecuteDoor(behind.executor, std::move(execute),
                                http::MakeCommandHandler(behind.commands, behind.runtime)),
          http::MakeRunDoor(behind.executor, std::move(run)),
          http::MakeRuntimeDoor(behind.runtime)};
}

http::BannerFacts BannerOf(const Parts& parts) {
  http::BannerFacts facts;
  facts.version = kVersion;
  facts.mode = parts.mode.mode;
  for (const exec::Installation& each : parts.catalog.available()) {
    facts.languages.push_back(each.language.id);
  }
  facts.isolation = jail::GradeName(parts.home.grade());
  const languages::Language& language = parts.catalog.Find(parts.mode.language)->language;
  facts.example = language.mode->example;
  facts.example_language = language.id;
  facts.example_file = language.entry.file;
  return facts;
}

Result<Parts> MakeParts(const languages::Registry& registry, jail::Grade grade,
                        const Context& context) {
  const Settings& settings = context.config.settings;
  exec::Catalog catalog(registry, FinderFor(settings), context.log);
  POLYBOX_ASSIGN_OR_RETURN(
      exec::ModeCandidate mode,
      exec::ChooseMode(settings.mode,
                       exec::ModeCandidates(registry.all(), catalog.toolchains(), SearchPath())));
  POLYBOX_ASSIGN_OR_RETURN(exec::JailHome home, exec::JailHome::Make(grade));
  return Parts{settings, std::move(catalog), std::move(mode), std::move(home),
               LanesOf(context.config)};
}

/// All but what must outlive the engine.
Result<exec::EngineOptions> EngineOptionsOf(const Parts& parts, const Context& context) {
  const Settings& settings = parts.settings;
  exec::EngineOptions options;
  options.lanes = parts.lanes;
  POLYBOX_ASSIGN_OR_RETURN(options.requirements_for,
                           RequirementsFor(settings, parts.catalog.registry()));
  options.warm = settings.warm == "on";
  POLYBOX_ASSIGN_OR_RETURN(options.preloads, PreloadsOf(settings, parts.catalog));
  options.usual_run.output_directory = settings.output_dir;
  options.on_idle = GiveMemoryBack;
  // Tried one after another, in no place of a client's.
  if (!options.preloads.empty()) options.lanes.push_back({.name = "preload", .queue = 4096});
  options.kept_language = parts.mode.language;
  options.kept = static_cast<std::size_t>(settings.warm_slots);
  options.idle_memory = settings.warm_memory;
  options.on_shared = [&context](const std::string& what) {
    context.log.Warn("guests are shown the host's own inodes", {{"what", what}});
  };
  return options;
}

Result<int> Serve(const Context& context) {
  KeepFreedMemory();
  const Settings& settings = context.config.settings;
  // All three before anything may start threads.
  if (const Status raised = sys::RaiseOpenFiles(); !raised.ok()) {
    context.log.Warn("few files can be open at once", {{"why", raised.error().message()}});
  }
  POLYBOX_ASSIGN_OR_RETURN(const UniqueFd signals, http::StopSignals());
  POLYBOX_ASSIGN_OR_RETURN(const jail::Grade grade, GradeFor(settings));
  const Ledgers ledgers(context.log);
  POLYBOX_ASSIGN_OR_RETURN(const std::unique_ptr<exec::GuestEgress> guest_egress,
                           GuestEgressFor(settings, grade, ledgers.guests));
  POLYBOX_ASSIGN_OR_RETURN(const languages::Registry registry, LoadRegistry(settings));
  POLYBOX_ASSIGN_OR_RETURN(const Parts parts, MakeParts(registry, grade, context));
  const Caches caches(context, [&context](const Error& error) {
    context.log.Warn(error.message(), {{"fix", error.fix()}});
  });
  POLYBOX_ASSIGN_OR_RETURN(
      const std::unique_ptr<exec::PackageSource> packages,
      caches.OpenPackages(parts.home, WithLedger(PackagesOf(settings), ledgers)));
  const std::unique_ptr<exec::CompileCache> compiled = caches.OpenCompileCache();
  if (compiled != nullptr) compiled->CleanUp();
  const std::unique_ptr<exec::Preparer> preparer =
      caches.OpenPreparer(parts.home, exec::Preparer::Mode::kMake);
  POLYBOX_ASSIGN_OR_RETURN(exec::EngineOptions options, EngineOptionsOf(parts, context));
  options.packages = packages.get();
  options.guest_egress = guest_egress.get();
  if (guest_egress != nullptr) {
    context.log.Info("guests may reach hosts",
                     {{"hosts", fmt::format("{}", fmt::join(settings.guest_egress, ","))}});
  }
  options.compile_cache = compiled.get();
  options.preparer = preparer.get();
  POLYBOX_ASSIGN_OR_RETURN(const http::RuntimeOptions runtime, RuntimeOf(context, grade, options));
  // Before the engine, whose end counts what it cancels.
  obs::Metrics metrics;
  const std::shared_ptr<exec::Executor> engine =
      exec::MakeEngine(parts.catalog, parts.home, options);
  CheckPreloads(options, {*engine, parts.catalog, grade, kPreloadLane}, context.log);
  ShowEgress(metrics, {ledgers.installers, ledgers.guests});
  http::AddRunGauges(metrics, *engine, kRunLane, parts.lanes[kRunLane]);
  http::MeasuredExecutor measured(*engine, metrics, {"execute", "run", "command"});
  http::EngineCommands commands(measured, kCommandLane);
  const auto readiness = std::make_shared<http::Readiness>(
      http::Readiness::Options{.cache_dir = caches.usable() ? settings.cache_dir : ""});
  return ServeUntilSignalled(
      {.doors = DoorsOf(parts, {measured, commands, runtime, metrics, readiness}),
       .executor = measured,
       .metrics = metrics,
       .readiness = readiness,
       .signals = signals.get(),
       .banner = BannerOf(parts)},
      context);
}

}  // namespace

Subcommand ServeCommand() {
  return {.name = "serve",
          .doc = "Answer requests over HTTP",
          .options = {},
          .run = [](const Context& context) -> int {
            const Result<int> code = Serve(context);
            if (code.ok()) return *code;
            context.err.PrintLine("polybox: " + code.error().message());
            if (!code.error().fix().empty()) context.err.PrintLine("fix: " + code.error().fix());
            return kFailure;
          },
          .takes_server_settings = true};
}

}  // namespace polybox::cmd
