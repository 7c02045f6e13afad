// polybox serve: the engine behind its front doors, until it is told to end.
#include "http/serve.h"

#include <algorithm>
#include <thread>

#include <fmt/format.h>

#include "build_info.h"
#include "command.h"
#include "exec/engine.h"
#include "exec/mode.h"
#include "http/banner.h"
#include "http/doors/execute.h"
#include "http/doors/run.h"
#include "http/measured_executor.h"
#include "installed.h"
#include "isolation.h"

namespace polybox::cmd {
namespace {

using config::Settings;

// The lanes of the engine, in this order.
constexpr std::size_t kExecuteLane = 0;
constexpr std::size_t kRunLane = 1;

std::int64_t PlacesOf(const Settings& settings) {
  if (settings.max_concurrent > 0) return settings.max_concurrent;
  return std::max<std::int64_t>(3,
                                2 * static_cast<std::int64_t>(std::thread::hardware_concurrency()));
}

std::vector<exec::Lane> LanesOf(const Settings& settings) {
  return {{.name = "execute", .concurrency = PlacesOf(settings), .queue = settings.queue},
          {.name = "run",
           .concurrency = settings.max_concurrency,
           .queue = settings.max_queue_size,
           .queue_time = settings.queue_timeout}};
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

http::Health HealthOf(const http::Readiness& readiness) {
  http::Health health;
  health.reasons = readiness.Obstacles();
  if (!health.reasons.empty()) health.status = http::HealthStatus::kUnhealthy;
  return health;
}

/// A program of the mode's language that is worth a first try.
std::string ExampleFor(const std::string& mode) {
  if (mode == "golang") {
    return "package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Println(6 * 7) }\n";
  }
  if (mode == "node") return "console.log(6 * 7)";
  return mode == "shell" ? "echo $((6 * 7))" : "print(6 * 7)";
}

/// What lives as long as the server.
struct Parts {
  const Settings& settings;
  exec::Catalog catalog;
  exec::ModeCandidate mode;
  exec::JailHome home;
  std::vector<exec::Lane> lanes;
};

std::vector<http::Door> DoorsOf(const Parts& parts, exec::Executor& executor, obs::Metrics& metrics,
                                const std::shared_ptr<http::Readiness>& readiness) {
  http::ExecuteOptions execute;
  execute.languages = FactsOf(parts.catalog);
  execute.mode = parts.mode.mode;
  execute.language = parts.mode.language;
  execute.lane = kExecuteLane;
  execute.capacity = parts.lanes[kExecuteLane].concurrency;
  execute.output_directory = parts.settings.output_dir;
  execute.isolation = parts.home.grade();
  execute.health = [readiness] { return HealthOf(*readiness); };
  http::RunOptions run;
  run.languages = execute.languages;
  run.limits = RunLimitsOf(parts.settings);
  run.lane = kRunLane;
  if (parts.settings.metrics) run.metrics = [&metrics] { return metrics.Render(); };
  return {http::MakeExecuteDoor(executor, std::move(execute), nullptr),
          http::MakeRunDoor(executor, std::move(run))};
}

void Announce(const Context& context, const Parts& parts,
              const std::vector<std::string>& addresses) {
  http::BannerFacts facts;
  facts.version = kVersion;
  facts.addresses = addresses;
  facts.mode = parts.mode.mode;
  for (const exec::Installation& each : parts.catalog.available()) {
    facts.languages.push_back(each.language.id);
  }
  facts.isolation = jail::GradeName(parts.home.grade());
  facts.token_file = parts.settings.token_file;
  facts.example = ExampleFor(parts.mode.mode);
  facts.example_language = parts.mode.language;
  const exec::Installation* language = parts.catalog.Find(parts.mode.language);
  facts.example_file = language->language.entry.file;
  context.out.Print(http::Banner(facts));
}

Result<Parts> MakeParts(const Settings& settings, const languages::Registry& registry,
                        jail::Grade grade, const Context& context) {
  exec::Catalog catalog(registry, FinderFor(settings), context.log);
  POLYBOX_ASSIGN_OR_RETURN(
      exec::ModeCandidate mode,
      exec::ChooseMode(settings.mode,
                       exec::ModeCandidates(registry.all(), catalog.toolchains(), SearchPath())));
  POLYBOX_ASSIGN_OR_RETURN(exec::JailHome home, exec::JailHome::Make(grade));
  return Parts{settings, std::move(catalog), std::move(mode), std::move(home), LanesOf(settings)};
}

Result<int> Serve(const Context& context) {
  const Settings& settings = context.config.settings;
  http::Tokens tokens;
  if (!settings.token_file.empty()) {
    POLYBOX_ASSIGN_OR_RETURN(tokens, http::Tokens::Load(settings.token_file));
  }
  // Both before anything may start threads.
  POLYBOX_ASSIGN_OR_RETURN(const UniqueFd signals, http::StopSignals());
  POLYBOX_ASSIGN_OR_RETURN(const jail::Grade grade, GradeFor(settings));
  POLYBOX_ASSIGN_OR_RETURN(const languages::Registry registry, LoadRegistry(settings));
  POLYBOX_ASSIGN_OR_RETURN(const Parts parts, MakeParts(settings, registry, grade, context));
  const std::shared_ptr<exec::Executor> engine =
      exec::MakeEngine(parts.catalog, parts.home, {.lanes = parts.lanes});
  obs::Metrics metrics;
  http::AddRunGauges(metrics, *engine, kRunLane, parts.lanes[kRunLane]);
  http::MeasuredExecutor measured(*engine, metrics, {"execute", "run"});
  const auto readiness =
      std::make_shared<http::Readiness>(http::Readiness::Options{.cache_dir = settings.cache_dir});
  http::ServerOptions server;
  server.doors = DoorsOf(parts, measured, metrics, readiness);
  server.tokens = std::move(tokens);
  server.limits.connections = static_cast<std::size_t>(settings.max_connections);
  POLYBOX_ASSIGN_OR_RETURN(const http::Ended ended,
                           http::Serve({.server = std::move(server),
                                        .places = {.listen = settings.listen,
                                                   .runtime_port = settings.runtime_port,
                                                   .unix_socket = settings.unix_socket,
                                                   .insecure = settings.insecure},
                                        .executor = measured,
                                        .metrics = metrics,
                                        .readiness = readiness,
                                        .drain_time = settings.drain_timeout,
                                        .signals = signals.get(),
                                        .started =
                                            [&](const std::vector<std::string>& addresses) {
                                              Announce(context, parts, addresses);
                                            }},
                                       context.log));
  (void)ended;  // however it ended, it was told to
  return kSuccess;
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
