#include "tools/shell_call.h"

#include <algorithm>
#include <ctime>

#include <fmt/format.h>

#include "shells/violations.h"
#include "tools/client.h"
#include "tools/file_target.h"
#include "workspace/workspace_set.h"

namespace polybox::tools {
namespace {

/// The part of the output in which a failed command says why it failed.
constexpr std::size_t kSearchedAfterFailure = 64U << 10U;
/// A command that succeeded may show any text, such as a log. A failure that its last part hid
/// ("npm install | tail") is usually at the end.
constexpr std::size_t kSearchedAfterSuccess = 2048;

std::string EndOf(const shells::OutputLog& log, std::size_t most) {
  const std::uint64_t end = log.extent().end;
  return shells::ReadOn(log, end - std::min<std::uint64_t>(end, most), most).bytes;
}

}  // namespace

Result<ShellCall> ShellCall::Begin(const Context& context) {
  if (context.machines == nullptr || context.shells == nullptr) {
    return Error(ErrorKind::kUnavailable, "background shells not configured");
  }
  POLYBOX_ASSIGN_OR_RETURN(workspace::Workspace * workspace,
                           context.workspaces->Find(context.workspace));
  if (workspace->access() == workspace::Access::kReadOnly) {
    return Error(ErrorKind::kInvalid, "the workspace is read-only: commands could write in it")
        .WithFix("Start polybox without --readonly");
  }
  return ShellCall({.workspace = workspace->name(), .principal = context.principal},
                   &context.machines->Of(*workspace), context.shells);
}

Result<std::shared_ptr<shells::Shell>> ShellCall::Find(const std::string& shell_id) const {
  if (shell_id.empty()) return Error(ErrorKind::kInvalid, "shell_id is required");
  return shells_->Find(owner_, shell_id);
}

std::vector<std::string> ShellCall::AddMachineNotes(std::vector<std::string>& notes) const {
  std::vector<std::string> machine = machine_->Notes();
  notes.insert(notes.end(), machine.begin(), machine.end());
  if (machine.empty() || !shells_->IsFirst(owner_)) machine.clear();
  return machine;
}

Result<std::string> DirectoryFor(const Context& context, std::string_view argument) {
  if (argument.empty()) return std::string();
  POLYBOX_ASSIGN_OR_RETURN(const WorkspaceCall call, WorkspaceCall::Begin(context, Purpose::kRead));
  Result<workspace::Place> place = call.Locate(argument);
  if (!place.ok()) return std::move(place).error().In("cwd");
  const Result<struct stat> state = workspace::StateOf(*place);
  if (!state.ok()) return StatError(call, *place, state.error().system_errno()).In("cwd");
  if (!S_ISDIR(state->st_mode)) {
    return Error(ErrorKind::kInvalid, fmt::format("cwd: not a directory: {}", argument));
  }
  return call.Absolute(*place);
}

std::vector<ViolationData> ViolationsOf(machine::Machine& machine, shells::Shell& shell) {
  std::vector<machine::Violation> all = machine.TakeViolations();
  const std::optional<jail::Outcome> outcome = shell.Wait(Duration::zero());
  if (outcome) shells::AddNew(all, shells::ObservedIn(*outcome));
  const bool succeeded = outcome && shells::ExitCodeOf(*outcome) == 0;
  const std::size_t searched = succeeded ? kSearchedAfterSuccess : kSearchedAfterFailure;
  for (const shells::Stream& stream : shell.streams()) {
    shells::AddNew(all, shells::RecognisedIn(EndOf(*stream.log, searched)));
  }
  std::vector<ViolationData> data;
  for (machine::Violation& each : all) {
    const bool observed = each.source == machine::Violation::Source::kObserved;
    data.push_back({.kind = std::string(shells::KindName(each.kind)),
                    .source = observed ? "observed" : "recognised",
                    .subject = std::move(each.subject),
                    .what = std::move(each.what),
                    .fix = std::move(each.fix)});
  }
  return data;
}

std::string ViolationLines(const std::vector<ViolationData>& violations) {
  std::string text;
  for (const ViolationData& each : violations) {
    text +=
        fmt::format("({}{}{}, {}: {}{}{})\n", each.kind, each.subject.empty() ? "" : " ",
                    each.subject, each.source, each.what, each.fix.empty() ? "" : ". ", each.fix);
  }
  return text;
}

void LogViolations(const Context& context, const std::vector<ViolationData>& violations) {
  if (context.client == nullptr) return;
  for (const ViolationData& violation : violations) {
    context.client->Log(LogLevel::kWarning,
                        fmt::format("{} Fix: {}", violation.what, violation.fix));
  }
}

std::string StatusOf(shells::Shell& shell) {
  const std::optional<jail::Outcome> outcome = shell.Wait(Duration::zero());
  if (!outcome) return "running";
  if (outcome->end == jail::End::kSetupFailed) return "not started: " + outcome->setup_failure;
  std::string text = fmt::format("completed (exit {})", shells::ExitCodeOf(*outcome));
  if (outcome->end == jail::End::kTimedOut) text += ", timed out";
  if (outcome->end == jail::End::kCancelled) text += ", killed";
  if (outcome->end == jail::End::kSignalled) {
    text += ", killed by " + jail::SignalName(outcome->signal);
  }
  if (shell.IsAlive()) text += "; processes that it started still run";
  return text;
}

std::string TimeText(std::chrono::system_clock::time_point time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm local{};
  ::localtime_r(&seconds, &local);
  char text[64];
  const std::size_t size = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S%z", &local);
  std::string shown(text, size);
  // "+0100" becomes "+01:00".
  if (shown.size() > 2) shown.insert(shown.size() - 2, ":");
  return shown;
}

Duration SecondsOf(double seconds, Duration fallback, Duration most) {
  if (!(seconds > 0)) return fallback;
  const double limit = std::chrono::duration<double>(most).count();
  return std::chrono::duration_cast<Duration>(
      std::chrono::duration<double>(std::min(seconds, limit)));
}

}  // namespace polybox::tools
