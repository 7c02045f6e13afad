#include "tools/verify_call.h"

#include <algorithm>

#include <fmt/format.h>

#include "tools/file_target.h"
#include "workspace/workspace_set.h"

namespace polybox::tools {
namespace {

using verify::CheckResult;

/// Test suites of usual projects end within this time.
constexpr std::chrono::seconds kDefaultTimeout{300};
constexpr std::chrono::seconds kLongestTimeout{3600};
/// A failure with its output takes about this many tokens in the text, and again in the data.
constexpr std::int64_t kTokensPerEntry = 100;
constexpr std::size_t kFewestEntries = 5;
constexpr std::size_t kMostEntries = 200;

/// Returns the program that the only result lacks; null if it lacks none.
const std::string* OnlyMissing(const std::vector<CheckResult>& results) {
  if (results.size() != 1 || results.front().missing.empty()) return nullptr;
  return &results.front().missing.front();
}

}  // namespace

std::string Text(const CheckAnswer& answer) {
  std::string text;
  for (const std::string& line : answer.first_lines) text += line + "\n";
  for (const CheckResult& result : answer.results) {
    if (!text.empty()) text += '\n';
    text += verify::TextOf(result);
  }
  return text;
}

Result<VerifyCall> VerifyCall::Begin(const Context& context, std::string tool,
                                     const ProjectArguments& arguments) {
  if (context.verification == nullptr) {
    return Error(ErrorKind::kUnavailable, tool + ": verification not configured");
  }
  POLYBOX_ASSIGN_OR_RETURN(ShellCall shell, ShellCall::Begin(context));
  POLYBOX_ASSIGN_OR_RETURN(const workspace::Workspace* workspace,
                           context.workspaces->Find(context.workspace));
  POLYBOX_ASSIGN_OR_RETURN(verify::Project project,
                           verify::Project::Open(*workspace, arguments.path));
  VerifyCall call(context, std::move(tool), std::move(shell), std::move(project));
  call.arguments_ = arguments;
  return call;
}

verify::Ground VerifyCall::ground() const {
  verify::Ground ground = {.machine = shell_.machine(),
                           .shells = shell_.shells(),
                           .owner = shell_.owner(),
                           .stop = context_->stop};
  if (context_->progress) {
    ground.progress = [this](const verify::RunProgress& progress) {
      context_->progress({.done = progress.seconds,
                          .message = fmt::format("{}: {:.0f} s, {} lines of output", tool_,
                                                 progress.seconds, progress.lines)});
    };
  }
  return ground;
}

verify::RunOptions VerifyCall::run_options() const {
  return {.timeout = SecondsOf(arguments_.timeout, kDefaultTimeout, kLongestTimeout)};
}

verify::CheckRequest VerifyCall::Request(verify::Check check) const {
  return {.check = check,
          .tool = tool_,
          .language = arguments_.language.value_or(""),
          .run = run_options()};
}

Result<std::string> VerifyCall::FileInProject(std::string_view argument) const {
  POLYBOX_ASSIGN_OR_RETURN(const WorkspaceCall files,
                           WorkspaceCall::Begin(*context_, Purpose::kRead));
  POLYBOX_ASSIGN_OR_RETURN(const OpenFile file, OpenPlainFile(files, argument));
  const std::string prefix = project_.path().empty() ? "" : project_.path() + "/";
  if (!file.place.path.starts_with(prefix)) {
    return Error(ErrorKind::kInvalid, fmt::format("{}: the file is not in the project {}: {}",
                                                  tool_, project_.directory(), argument));
  }
  return file.place.path.substr(prefix.size());
}

Result<const verify::Detector*> VerifyCall::OnlyDetector() const {
  POLYBOX_ASSIGN_OR_RETURN(const verify::Detectors* detectors, verification().FindDetectors());
  POLYBOX_ASSIGN_OR_RETURN(
      const verify::Chosen chosen,
      detectors->Choose(project_, {.tool = tool_, .language = arguments_.language.value_or("")}));
  if (chosen.size() == 1) return chosen.front();
  return Error(ErrorKind::kInvalid, tool_ + ": pass one `language`, not \"all\"");
}

Status VerifyCall::RefuseMissing(const std::vector<CheckResult>& results) const {
  const std::string* missing = OnlyMissing(results);
  if (missing == nullptr) return {};
  const bool is_lint = results.front().check == verify::CheckName(verify::Check::kLint);
  return Error(ErrorKind::kUnavailable,
               is_lint ? "linter not installed: " + *missing
                       : fmt::format("{}: {}: not found on PATH", tool_, *missing));
}

Result<CheckAnswer> VerifyCall::Run(const verify::CheckRequest& request) const {
  POLYBOX_ASSIGN_OR_RETURN(std::vector<CheckResult> results,
                           verification().Run(ground(), project_, request));
  POLYBOX_RETURN_IF_ERROR(RefuseMissing(results));
  return Answer(std::move(results));
}

CheckAnswer VerifyCall::Answer(std::vector<CheckResult> results) const {
  CheckAnswer answer = {.verdict = verify::VerdictOf(results)};
  const std::size_t entries =
      std::clamp(static_cast<std::size_t>(context_->budget_tokens / kTokensPerEntry),
                 kFewestEntries, kMostEntries);
  for (CheckResult& result : results) verify::Shorten(result, {.entries = entries});
  answer.results = std::move(results);
  for (const std::string& note : shell_.AddMachineNotes(answer.notes)) {
    answer.first_lines.push_back("(" + note + ")");
  }
  return answer;
}

}  // namespace polybox::tools
