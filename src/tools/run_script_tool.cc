// run_script: runs a script that the project defines, as in package.json.
#include <fmt/format.h>

#include "tools/output_view.h"
#include "tools/tool.h"
#include "tools/verify_call.h"

namespace polybox::tools {
namespace {

struct RunScriptArguments : ProjectArguments {
  std::string name = {};
  std::vector<std::string> arguments = {};

  static constexpr auto Members() {
    return std::tuple_cat(
        ProjectArguments::Members(),
        std::tuple(json::Optional("name", &RunScriptArguments::name, "Name of the script"),
                   json::Optional("arguments", &RunScriptArguments::arguments,
                                  "Further arguments for it")));
  }
};

struct ScriptResult {
  std::string command = {};
  std::int64_t exit_code = 0;
  bool timed_out = false;
  std::string output = {};
  std::optional<std::string> shell_id = {};

  /// Not part of the data: the whole text.
  std::string text = {};

  static constexpr auto Members() {
    return std::tuple(json::Required("command", &ScriptResult::command),
                      json::Required("exit_code", &ScriptResult::exit_code),
                      json::Required("timed_out", &ScriptResult::timed_out),
                      json::Required("output", &ScriptResult::output),
                      json::Optional("shell_id", &ScriptResult::shell_id));
  }
};

std::string Text(const ScriptResult& result) {
  return result.text;
}

std::string Trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t\r\n") + 1 - begin);
}

Result<verify::Plan> PlanOf(const VerifyCall& call, const RunScriptArguments& arguments) {
  POLYBOX_ASSIGN_OR_RETURN(const verify::Detector* detector, call.OnlyDetector());
  if (!detector->RunsScripts()) {
    return Error(ErrorKind::kInvalid,
                 fmt::format("run_script: only Node projects support scripts today (detected: {})",
                             detector->Language()));
  }
  const std::string name = Trimmed(arguments.name);
  if (name.empty()) return Error(ErrorKind::kInvalid, "run_script: name is required");
  return detector->ScriptFor(call.project(), name, arguments.arguments).In("run_script");
}

/// Returns the body of the answer: both streams within the budget, and how the command ended.
std::string BodyOf(const verify::CommandRun& run, std::size_t characters, bool& is_complete) {
  const OutputView out = ViewOf(*run.shell->FindStream("stdout"), 0, characters / 2);
  const OutputView err = ViewOf(*run.shell->FindStream("stderr"), 0, characters / 2);
  is_complete = out.left_out == 0 && err.left_out == 0;
  std::string text = out.text;
  if (!text.empty() && !text.ends_with('\n')) text += '\n';
  if (!err.text.empty()) text += "--- stderr ---\n" + err.text;
  if (!text.empty() && !text.ends_with('\n')) text += '\n';
  return text;
}

Result<ScriptResult> RunScript(const Context& context, const RunScriptArguments& arguments) {
  POLYBOX_ASSIGN_OR_RETURN(const VerifyCall call,
                           VerifyCall::Begin(context, "run_script", arguments));
  POLYBOX_ASSIGN_OR_RETURN(const verify::Plan plan, PlanOf(call, arguments));
  const Duration timeout = call.run_options().timeout;
  const verify::Ground ground = call.ground();
  POLYBOX_ASSIGN_OR_RETURN(
      const verify::CommandRun run,
      verify::RunPlain(ground, call.project(), plan, timeout).In("run_script"));
  if (!run.missing.empty()) {
    return Error(ErrorKind::kUnavailable,
                 fmt::format("run_script: {}: not found on PATH", run.missing.front()));
  }
  ScriptResult result = {.command = run.command,
                         .exit_code = shells::ExitCodeOf(run.outcome),
                         .timed_out = run.outcome.end == jail::End::kTimedOut};
  bool is_complete = true;
  constexpr std::size_t kCharactersPerToken = 4;
  result.output = BodyOf(run, static_cast<std::size_t>(context.budget_tokens) * kCharactersPerToken,
                         is_complete);
  result.text = result.output;
  if (is_complete) {
    ground.shells.Forget(run.shell);
  } else {
    result.shell_id = run.shell->id();
    result.text += fmt::format("(output_query with shell_id {} reads the rest)\n", run.shell->id());
  }
  if (result.timed_out) {
    result.text +=
        fmt::format("timed out after {:g}s\n", std::chrono::duration<double>(timeout).count());
  }
  result.text += fmt::format("exit: {}\n", result.exit_code);
  return result;
}

}  // namespace

Tool RunScriptTool() {
  return MakeTool<RunScriptArguments, ScriptResult>(
      {.name = "run_script",
       .title = "Run a script of the project",
       .description = "Runs a script of package.json with the package manager of the project.",
       .group = "verify",
       .annotations =
           {.read_only = false, .destructive = true, .idempotent = false, .open_world = true},
       .needs = Needs::kCommands},
      RunScript);
}

}  // namespace polybox::tools
