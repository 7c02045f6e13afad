// Bash: runs a command in the jail of the workspace, in the foreground or in the background.
#include <algorithm>

#include <fmt/format.h>

#include "tools/client.h"
#include "tools/output_resource.h"
#include "tools/output_view.h"
#include "tools/shell_call.h"
#include "tools/tool.h"
#include "tools/walk_notes.h"

namespace polybox::tools {
namespace {

using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr double kDefaultTimeout = 120;
constexpr seconds kLongestTimeout{600};
/// Below the 60 seconds after which many clients give a call up.
constexpr double kDefaultSoftTimeout = 45;
constexpr seconds kProgressPause{3};
/// A command that takes longer becomes a task, if its client takes tasks. Most commands are
/// quicker, and an answer costs a client less than a task.
constexpr seconds kTaskAfter{10};
/// How quickly a cancelled call ends its command.
constexpr std::chrono::milliseconds kLook{50};
/// The end of the last child is known shortly after the end of the command.
constexpr std::chrono::milliseconds kTreeEnd{25};
constexpr std::size_t kCharactersPerToken = 4;
constexpr std::size_t kLongestCommand = 1U << 20U;

struct BashArguments {
  std::string command;
  std::string description = {};
  double timeout = kDefaultTimeout;
  bool run_in_background = false;
  double soft_timeout = kDefaultSoftTimeout;
  std::string cwd = {};
  bool terminal = false;
  std::optional<std::string> stdin_text = {};
  bool stdin_open = false;

  static constexpr bool kTakesBudget = true;
  static constexpr auto Members() {
    return std::tuple(
        json::Required("command", &BashArguments::command).MaxLength(kLongestCommand),
        json::Optional("description", &BashArguments::description, "What it is for"),
        json::Optional("timeout", &BashArguments::timeout,
                       "Seconds until it is killed, at most 600"),
        json::Optional("run_in_background", &BashArguments::run_in_background,
                       "Return a shell_id at once; no timeout"),
        json::Optional("soft_timeout", &BashArguments::soft_timeout,
                       "Seconds until a shell_id is returned while it goes on"),
        json::Optional("cwd", &BashArguments::cwd, "Directory; the workspace if absent"),
        json::Optional("terminal", &BashArguments::terminal, "Run on a terminal"),
        json::Optional("stdin", &BashArguments::stdin_text, "Its input; nothing if absent"),
        json::Optional("stdin_open", &BashArguments::stdin_open, "Keep stdin open: shell_input"));
  }
};

struct BashResult {
  std::string status = {};
  std::string output = {};
  std::int64_t output_bytes = 0;
  std::int64_t left_out_bytes = 0;
  std::optional<std::int64_t> exit_code = {};
  bool timed_out = false;
  std::optional<std::string> signal = {};
  std::optional<std::string> shell_id = {};
  bool children_running = false;
  double seconds = 0;
  std::vector<ViolationData> violations = {};
  std::vector<std::string> notes = {};

  /// Not part of the data: all other lines of the text.
  std::string text = {};

  static constexpr auto Members() {
    return std::tuple(json::Required("status", &BashResult::status),
                      json::Required("output", &BashResult::output),
                      json::Required("output_bytes", &BashResult::output_bytes),
                      json::Required("left_out_bytes", &BashResult::left_out_bytes),
                      json::Optional("exit_code", &BashResult::exit_code),
                      json::Required("timed_out", &BashResult::timed_out),
                      json::Optional("signal", &BashResult::signal),
                      json::Optional("shell_id", &BashResult::shell_id),
                      json::Required("children_running", &BashResult::children_running),
                      json::Required("seconds", &BashResult::seconds),
                      json::Required("violations", &BashResult::violations),
                      json::Required("notes", &BashResult::notes));
  }
};

std::string Text(const BashResult& result) {
  std::string text = result.output;
  if (!text.empty() && !text.ends_with('\n')) text += '\n';
  return text + result.text;
}

/// Shows the text, and where the rest of a long output is.
std::vector<Block> Blocks(const BashResult& result) {
  std::vector<Block> blocks = {TextBlock{Text(result)}};
  if (result.left_out_bytes != 0 && result.shell_id) {
    blocks.emplace_back(
        LinkToOutput(*result.shell_id, "output", static_cast<std::uint64_t>(result.output_bytes)));
  }
  return blocks;
}

Result<shells::ShellOptions> OptionsFor(const Context& context, const ShellCall& call,
                                        const BashArguments& arguments) {
  shells::ShellOptions options = {.owner = call.owner(), .command = arguments.command};
  POLYBOX_ASSIGN_OR_RETURN(options.directory, DirectoryFor(context, arguments.cwd));
  options.timeout = SecondsOf(arguments.timeout, SecondsOf(kDefaultTimeout, {}, kLongestTimeout),
                              kLongestTimeout);
  if (arguments.run_in_background) {
    options.timeout = {};
    options.streams = shells::Streams::kSeparate;
  }
  if (arguments.terminal) options.terminal = jail::TerminalSize{};
  if (arguments.stdin_text) {
    options.input = shells::Input::kText;
    options.input_text = *arguments.stdin_text;
  }
  if (arguments.stdin_open) options.input = shells::Input::kOpen;
  return options;
}

/// When an answer is due.
struct Deadlines {
  steady_clock::time_point answer;
  /// The same for a call that has become a task: nobody waits for its answer.
  steady_clock::time_point task;
};

/// Waits for the end of the command until the deadline. Ends it when the caller cancels.
std::optional<jail::Outcome> AwaitEnd(const Context& context, shells::Shell& shell,
                                      const Deadlines& deadlines) {
  const auto begin = steady_clock::now();
  auto report = begin + kProgressPause;
  auto deadline = deadlines.answer;
  bool may_become_task = context.client != nullptr;
  while (true) {
    const auto now = steady_clock::now();
    if (may_become_task && now - begin >= kTaskAfter) {
      may_become_task = false;
      if (context.client->BecomeTask()) deadline = deadlines.task;
    }
    if (now >= deadline) return shell.Wait(Duration::zero());
    std::optional<jail::Outcome> outcome = shell.Wait(std::min<Duration>(kLook, deadline - now));
    if (outcome) return outcome;
    if (context.stop.stop_requested()) {
      (void)shell.End();
      return shell.Wait(Duration::zero());
    }
    if (!context.progress || steady_clock::now() < report) continue;
    report += kProgressPause;
    context.progress({.done = std::chrono::duration<double>(steady_clock::now() - begin).count(),
                      .message = LastLine(*shell.streams().front().log)});
  }
}

/// Describes how the command ended.
void AddEnd(const jail::Outcome& outcome, const shells::Shell& shell, BashResult& result) {
  result.exit_code = shells::ExitCodeOf(outcome);
  result.timed_out = outcome.end == jail::End::kTimedOut;
  if (result.timed_out) {
    const double timeout = std::chrono::duration<double>(shell.options().timeout).count();
    result.text += fmt::format("bash: timed out after {:g}s\n", timeout);
  } else if (outcome.signal != 0) {
    result.signal = jail::SignalName(outcome.signal);
    result.text += fmt::format("bash: killed by {}\n", *result.signal);
  }
  if (result.exit_code != 0) result.text += fmt::format("exit: {}\n", *result.exit_code);
}

/// Describes a command that goes on, or children that do.
void AddHandle(const jail::Outcome* outcome, const shells::Shell& shell, BashResult& result) {
  result.shell_id = shell.id();
  result.text += fmt::format("shell_id: {}\n", shell.id());
  if (outcome != nullptr) {
    result.children_running = true;
    result.text +=
        "processes that the command started still run; BashOutput reads their output, KillShell "
        "ends them\n";
    return;
  }
  const double timeout = std::chrono::duration<double>(shell.options().timeout).count();
  result.text += fmt::format(
      "still running after {:.0f}s (killed after {:g}s); BashOutput reads on, KillShell ends it\n",
      result.seconds, timeout);
}

Result<BashResult> Finish(const Context& context, const ShellCall& call,
                          const std::shared_ptr<shells::Shell>& shell,
                          const std::optional<jail::Outcome>& outcome) {
  if (outcome && outcome->end == jail::End::kSetupFailed) {
    call.shells().Forget(shell);
    return Error(ErrorKind::kSystem, "bash: " + outcome->setup_failure);
  }
  BashResult result;
  const shells::OutputLog& log = *shell->streams().front().log;
  const OutputView view =
      ViewOf(log, 0, static_cast<std::size_t>(context.budget_tokens) * kCharactersPerToken);
  result.output = view.text;
  result.output_bytes = static_cast<std::int64_t>(view.end);
  result.left_out_bytes = static_cast<std::int64_t>(view.left_out);
  result.seconds =
      std::chrono::duration<double>(std::chrono::system_clock::now() - shell->started()).count();
  const bool goes_on = shell->IsAlive(outcome ? Duration(kTreeEnd) : Duration::zero());
  result.status = outcome ? "completed" : "running";
  if (goes_on) {
    AddHandle(outcome ? &*outcome : nullptr, *shell, result);
  } else if (view.left_out != 0) {
    result.shell_id = shell->id();
    result.text += fmt::format("(output_query with shell_id {} reads the rest)\n", shell->id());
  } else {
    call.shells().Forget(shell);
  }
  result.violations = ViolationsOf(call.machine(), *shell);
  LogViolations(context, result.violations);
  result.text += ViolationLines(result.violations);
  result.text += NoteLines(call.AddMachineNotes(result.notes));
  if (outcome) AddEnd(*outcome, *shell, result);
  return result;
}

BashResult InBackground(const ShellCall& call, const shells::Shell& shell) {
  BashResult result;
  result.status = "running";
  result.shell_id = shell.id();
  result.text =
      fmt::format("shell_id: {}\nstarted in background: {}\n", shell.id(), shell.options().command);
  result.text += NoteLines(call.AddMachineNotes(result.notes));
  return result;
}

Result<BashResult> Bash(const Context& context, const BashArguments& arguments) {
  if (arguments.command.empty()) return Error(ErrorKind::kInvalid, "command is required");
  POLYBOX_ASSIGN_OR_RETURN(const ShellCall call, ShellCall::Begin(context));
  POLYBOX_ASSIGN_OR_RETURN(shells::ShellOptions options, OptionsFor(context, call, arguments));
  const auto begin = steady_clock::now();
  Result<std::shared_ptr<shells::Shell>> started = call.shells().Start(
      call.machine(), std::move(options),
      arguments.run_in_background ? shells::Place::kBackground : shells::Place::kForeground);
  if (!started.ok()) return std::move(started).error().In("bash");
  const std::shared_ptr<shells::Shell> shell = std::move(started).value();
  if (arguments.run_in_background) return InBackground(call, *shell);
  const Duration soft = SecondsOf(
      arguments.soft_timeout, SecondsOf(kDefaultSoftTimeout, {}, kLongestTimeout), kLongestTimeout);
  // The jail ends the command at its timeout; the answer then says so.
  const bool is_soft = soft < shell->options().timeout;
  const auto end = begin + 2 * kLongestTimeout;
  const auto answer = is_soft ? begin + soft : end;
  // An agent that names a soft timeout wants the answer by then in any case.
  const bool is_usual = arguments.soft_timeout == kDefaultSoftTimeout;
  const std::optional<jail::Outcome> outcome =
      AwaitEnd(context, *shell, {.answer = answer, .task = is_usual ? end : answer});
  return Finish(context, call, shell, outcome);
}

}  // namespace

Tool BashTool() {
  return MakeTool<BashArguments, BashResult>(
      {.name = "Bash",
       .title = "Run a command",
       .description =
           "Runs a command with bash in the jail of the workspace. Commands of a workspace share "
           "processes, ports of localhost and /tmp. Shows stdout and stderr in order, then "
           "\"exit: N\" unless N is 0. Children in the background go on.",
       .group = "core",
       .annotations =
           {.read_only = false, .destructive = true, .idempotent = false, .open_world = true},
       .tasks = TaskUse::kMay},
      Bash);
}

}  // namespace polybox::tools
