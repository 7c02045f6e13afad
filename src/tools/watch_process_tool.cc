// watch_process: starts a command in the background and notes the error lines that it writes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/shell_call.h"
#include "tools/tool.h"
#include "tools/walk_notes.h"

namespace polybox::tools {
namespace {

constexpr std::int64_t kLongestIdle = 3600;

struct WatchProcessArguments {
  std::string command;
  std::string description = {};
  std::optional<std::vector<std::string>> error_patterns = {};
  std::int64_t idle_timeout_seconds = 0;
  std::string cwd = {};

  static constexpr auto Members() {
    return std::tuple(
        json::Required("command", &WatchProcessArguments::command),
        json::Optional("description", &WatchProcessArguments::description, "What it is for"),
        json::Optional("error_patterns", &WatchProcessArguments::error_patterns,
                       "RE2 for lines of stderr, at most 32; [] for none"),
        json::Optional("idle_timeout_seconds", &WatchProcessArguments::idle_timeout_seconds,
                       "Kill it when it is silent for so long; 0 for never, at most 3600"),
        json::Optional("cwd", &WatchProcessArguments::cwd, "Directory; the workspace if absent"));
  }
};

struct WatchProcessResult {
  std::string shell_id = {};
  std::string command = {};
  std::vector<std::string> error_patterns = {};
  std::int64_t idle_timeout_seconds = 0;
  std::vector<std::string> notes = {};

  std::vector<std::string> new_notes = {};

  static constexpr auto Members() {
    return std::tuple(
        json::Required("shell_id", &WatchProcessResult::shell_id),
        json::Required("command", &WatchProcessResult::command),
        json::Required("error_patterns", &WatchProcessResult::error_patterns),
        json::Required("idle_timeout_seconds", &WatchProcessResult::idle_timeout_seconds),
        json::Required("notes", &WatchProcessResult::notes));
  }
};

std::string Text(const WatchProcessResult& result) {
  const std::string patterns = result.error_patterns.empty()
                                   ? "(none — pattern matching disabled)"
                                   : fmt::format("{}", fmt::join(result.error_patterns, " | "));
  const std::string idle = result.idle_timeout_seconds == 0
                               ? "(disabled)"
                               : fmt::format("{}s", result.idle_timeout_seconds);
  return fmt::format(
             "shell_id: {}\nstarted in background: {}\nerror_patterns: {}\nidle_timeout: {}\n\n"
             "Poll watch_process_events with this shell_id for structured events. KillShell "
             "terminates the process group.\n",
             result.shell_id, result.command, patterns, idle) +
         NoteLines(result.new_notes);
}

Result<WatchProcessResult> WatchProcess(const Context& context,
                                        const WatchProcessArguments& arguments) {
  if (arguments.command.empty()) return Error(ErrorKind::kInvalid, "command is required");
  POLYBOX_ASSIGN_OR_RETURN(const ShellCall call, ShellCall::Begin(context));
  WatchProcessResult result = {
      .command = arguments.command,
      .error_patterns = arguments.error_patterns.value_or(shells::DefaultErrorPatterns()),
      .idle_timeout_seconds =
          std::clamp<std::int64_t>(arguments.idle_timeout_seconds, 0, kLongestIdle)};
  // Checked before anything starts.
  const auto checked = shells::ErrorPatterns::Compile(result.error_patterns);
  if (!checked.ok()) return checked.error();
  shells::ShellOptions options = {
      .owner = call.owner(),
      .command = arguments.command,
      .streams = shells::Streams::kSeparate,
      .watching =
          shells::Watching{.patterns = result.error_patterns,
                           .idle_timeout = std::chrono::seconds(result.idle_timeout_seconds)}};
  POLYBOX_ASSIGN_OR_RETURN(options.directory, DirectoryFor(context, arguments.cwd));
  Result<std::shared_ptr<shells::Shell>> shell =
      call.shells().Start(call.machine(), std::move(options), shells::Place::kBackground);
  if (!shell.ok()) return std::move(shell).error().In("watch_process start");
  result.shell_id = shell.value()->id();
  result.new_notes = call.AddMachineNotes(result.notes);
  return result;
}

}  // namespace

Tool WatchProcessTool() {
  return MakeTool<WatchProcessArguments, WatchProcessResult>(
      {.name = "watch_process",
       .title = "Start and watch a command",
       .description = "Starts a command in the background, for example a development server, and "
                      "notes lines of stderr that match a pattern.",
       .group = "core",
       .annotations =
           {.read_only = false, .destructive = true, .idempotent = false, .open_world = true}},
      WatchProcess);
}

}  // namespace polybox::tools
