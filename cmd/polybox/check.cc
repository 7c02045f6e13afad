// polybox test, lint, typecheck, format and coverage: check a project for people and CI, with the
// same code as the tools of agents.
#include <csignal>
#include <filesystem>
#include <poll.h>
#include <stop_token>
#include <thread>
#include <unistd.h>

#include <fmt/format.h>

#include "agent_tools.h"
#include "command.h"
#include "complaint.h"
#include "http/serve.h"
#include "json/write.h"
#include "progress.h"
#include "verify/check_result.h"
#include "verify/report_files.h"

namespace polybox::cmd {
namespace {

using verify::Check;
using verify::CheckResult;
using verify::Verdict;

/// The command found out nothing about the code.
constexpr int kCouldNotTell = 3;
/// Builds in CI are slow; a run that hangs must still end.
constexpr std::chrono::minutes kTimeout{60};

/// What the command line says.
struct Wishes {
  Check check = Check::kTest;
  std::shared_ptr<std::string> directory = std::make_shared<std::string>();
  std::shared_ptr<std::string> language = std::make_shared<std::string>();
  std::shared_ptr<std::string> filter = std::make_shared<std::string>();
  std::shared_ptr<bool> apply = std::make_shared<bool>(false);
  std::shared_ptr<bool> as_json = std::make_shared<bool>(false);
  std::shared_ptr<bool> as_junit = std::make_shared<bool>(false);
  std::shared_ptr<bool> as_sarif = std::make_shared<bool>(false);
};

int ExitCodeOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPassed:
      return kSuccess;
    case Verdict::kFailed:
    case Verdict::kBuildFailed:
      return kFailure;
    default:
      return kCouldNotTell;
  }
}

/// Returns the settings with the directory of the command line as the only workspace.
Result<config::Settings> SettingsFor(const config::Settings& settings, const Wishes& wishes) {
  config::Settings own = settings;
  std::error_code error;
  const std::string given = wishes.directory->empty() ? "." : *wishes.directory;
  own.workspace = std::filesystem::absolute(given, error).lexically_normal().string();
  if (own.workspace.size() > 1 && own.workspace.ends_with('/')) own.workspace.pop_back();
  own.workspaces.clear();
  own.readonly = false;
  if (!error) return own;
  return Error(ErrorKind::kInvalid, fmt::format("{}: {}", given, error.message()));
}

/// Requests a stop when a signal asks polybox to end, as long as the object exists.
class StopOnSignal {
 public:
  explicit StopOnSignal(int signals)
      : thread_([this, signals](const std::stop_token& own) {
          constexpr int kLookMs = 100;
          while (!own.stop_requested()) {
            pollfd waiting = {signals, POLLIN, 0};
            if (::poll(&waiting, 1, kLookMs) > 0) {
              source_.request_stop();
              return;
            }
          }
        }) {}
  std::stop_token token() const { return source_.get_token(); }

 private:
  std::stop_source source_;
  std::jthread thread_;
};

verify::CheckRequest RequestFor(const Wishes& wishes) {
  verify::CheckRequest request = {.check = wishes.check,
                                  .tool = std::string(verify::CheckName(wishes.check)),
                                  .language = *wishes.language,
                                  .run = {.timeout = kTimeout, .keeps_output = false}};
  request.options.filter = *wishes.filter;
  request.options.apply = *wishes.apply;
  return request;
}

Result<std::vector<CheckResult>> RunChecks(const Context& context, const Wishes& wishes) {
  config::Loaded loaded = context.config;
  POLYBOX_ASSIGN_OR_RETURN(loaded.settings, SettingsFor(context.config.settings, wishes));
  const Context own = {.config = loaded,
                       .out = context.out,
                       .err = context.err,
                       .log = context.log,
                       .secrets = context.secrets,
                       .subcommands = context.subcommands};
  POLYBOX_ASSIGN_OR_RETURN(const UniqueFd signals, http::StopSignals());
  POLYBOX_ASSIGN_OR_RETURN(const std::unique_ptr<AgentTools> agents, MakeAgentTools(own));
  const workspace::Workspace& workspace = *agents->workspaces.all().front();
  POLYBOX_ASSIGN_OR_RETURN(const verify::Project project, verify::Project::Open(workspace, ""));
  const StopOnSignal stop(signals.get());
  Progress progress(context.err);
  const std::string what = fmt::format("{} {}", verify::CheckName(wishes.check), workspace.path());
  progress.Begin(what);
  const verify::Ground ground = {
      .machine = agents->machines.Of(workspace),
      .shells = agents->shells,
      .owner = {.workspace = workspace.name(), .principal = "person"},
      .stop = stop.token(),
      .progress = [&](const verify::RunProgress& run) {
        progress.Begin(fmt::format("{} ({} lines of output)", what, run.lines));
      }};
  Result<std::vector<CheckResult>> results =
      agents->verification->Run(ground, project, RequestFor(wishes));
  progress.End();
  return results;
}

/// Prints the results in the form that the user wants.
void Print(const std::vector<CheckResult>& results, const Wishes& wishes, const Terminal& out) {
  if (*wishes.as_json) {
    out.PrintLine(
        json::Write(json::Object{{"verdict", verify::VerdictName(verify::VerdictOf(results))},
                                 {"results", json::Encode(results)}}));
  } else if (*wishes.as_junit) {
    out.Print(verify::JunitOf(results));
  } else if (*wishes.as_sarif) {
    out.PrintLine(verify::SarifOf(results));
  } else {
    for (const CheckResult& result : results) out.Print(verify::TextOf(result));
  }
}

int Run(const Context& context, const Wishes& wishes) {
  const Result<std::vector<CheckResult>> results = RunChecks(context, wishes);
  if (!results.ok()) {
    const bool is_usage = results.error().kind() == ErrorKind::kInvalid;
    return Complain({.out = context.out,
                     .err = context.err,
                     .as_json = *wishes.as_json,
                     .exit_code = is_usage ? kUsage : kCouldNotTell},
                    results.error());
  }
  Print(*results, wishes, context.out);
  return ExitCodeOf(verify::VerdictOf(*results));
}

Subcommand CheckCommand(Check check, std::string doc) {
  const Wishes wishes = {.check = check};
  Subcommand command = {
      .name = std::string(verify::CheckName(check)),
      .doc = std::move(doc),
      .options = {{.name = "directory",
                   .doc = "The project; the current directory if absent",
                   .into = wishes.directory},
                  {.name = "--language",
                   .doc = "The language, if the project has several; \"all\" for each in turn",
                   .into = wishes.language},
                  JsonOption(wishes.as_json)},
      .run = [wishes](const Context& context) { return Run(context, wishes); },
      .note = "Exit codes: 0 green, 1 findings or failures, 2 usage error, 3 could not tell.",
      .takes_agent_settings = true};
  if (check == Check::kTest) {
    command.options.push_back({.name = "--filter",
                               .doc = "Only matching tests, in the words of the runner",
                               .into = wishes.filter});
    command.options.push_back(
        {.name = "--junit", .doc = "Print JUnit XML", .into = wishes.as_junit});
  }
  if (check == Check::kLint || check == Check::kTypecheck) {
    command.options.push_back({.name = "--sarif", .doc = "Print SARIF", .into = wishes.as_sarif});
  }
  if (check == Check::kFormat) {
    command.options.push_back(
        {.name = "--apply", .doc = "Change the files, not only tell", .into = wishes.apply});
  }
  return command;
}

}  // namespace

std::vector<Subcommand> CheckCommands() {
  return {CheckCommand(Check::kTest, "Run the tests of a project in a jail"),
          CheckCommand(Check::kLint, "Run the linter of a project in a jail"),
          CheckCommand(Check::kTypecheck, "Check the types of a project in a jail"),
          CheckCommand(Check::kFormat, "Say what the formatter of a project would change"),
          CheckCommand(Check::kCoverage, "Measure which lines the tests of a project run")};
}

}  // namespace polybox::cmd
