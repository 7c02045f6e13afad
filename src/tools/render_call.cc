#include "tools/render_call.h"

#include <array>
#include <mutex>
#include <optional>

#include <fmt/format.h>

#include "schema/reader.h"
#include "tools/data_files.h"
#include "tools/output_view.h"
#include "tools/shell_call.h"
#include "tools/whole_file.h"

namespace polybox::tools {
namespace {

constexpr std::string_view kFormatMark = "{format}";
constexpr std::array<std::string_view, 3> kFormats = {"svg", "png", "pdf"};
/// A diagram that a person can read has a few kilobytes of source, and a picture of some hundred.
constexpr std::size_t kLargestSource = 1U << 20U;
constexpr std::size_t kLargestPicture = 10U << 20U;
constexpr std::chrono::seconds kDefaultTimeout{60};
constexpr std::chrono::seconds kLongestTimeout{300};
/// How quickly a cancelled call ends its program.
constexpr std::chrono::milliseconds kLook{50};
/// Of what a program says about its failure.
constexpr std::size_t kShownErrors = 4000;
/// As bash has it.
constexpr int kNotFound = 127;

/// Returns the built-in list. It is read once; a test shows that it can be read.
const Result<RenderPrograms>& Builtin() {
  static const Result<RenderPrograms> programs =
      ParseRenderPrograms(DataFiles()[1].content, std::string(DataFiles()[1].name));
  return programs;
}

/// Returns "svg", "png" or "pdf", or an error.
Result<std::string> FormatOf(const std::string& path) {
  const std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);
  const std::size_t dot = name.rfind('.');
  const std::string_view extension = dot == std::string_view::npos ? "" : name.substr(dot);
  for (const std::string_view format : kFormats) {
    if (!extension.empty() && extension.substr(1) == format) return std::string(format);
  }
  return Error(
      ErrorKind::kInvalid,
      fmt::format("unsupported output extension \"{}\"; supported: .svg, .png, .pdf", extension));
}

Status CheckArguments(const RenderArguments& arguments) {
  if (arguments.source.empty()) return Error(ErrorKind::kInvalid, "source is required");
  if (arguments.source.size() > kLargestSource) {
    return Error(ErrorKind::kInvalid, fmt::format("source {} bytes exceeds cap {}",
                                                  arguments.source.size(), kLargestSource));
  }
  if (arguments.output_path.empty()) return Error(ErrorKind::kInvalid, "output_path is required");
  return {};
}

std::string ScriptOf(const RenderProgram& program, const std::string& format) {
  std::string script = fmt::format("command -v {} > /dev/null || exit {}\n{}", program.command,
                                   kNotFound, program.script);
  for (std::size_t at = script.find(kFormatMark); at != std::string::npos;
       at = script.find(kFormatMark)) {
    script.replace(at, kFormatMark.size(), format);
  }
  return script;
}

/// Waits for the end of the program. Ends it when the caller cancels.
jail::Outcome Await(const Context& context, shells::Shell& shell) {
  while (true) {
    std::optional<jail::Outcome> outcome = shell.Wait(kLook);
    if (outcome) return *outcome;
    if (context.stop.stop_requested()) (void)shell.End();
  }
}

/// Says why there is no picture, or returns nothing.
Status Judge(const RenderProgram& program, const jail::Outcome& outcome, shells::Shell& shell) {
  if (outcome.end == jail::End::kSetupFailed) {
    return Error(ErrorKind::kSystem, outcome.setup_failure);
  }
  if (outcome.end == jail::End::kTimedOut) {
    return Error(ErrorKind::kSystem,
                 fmt::format("timed out after {:g}s",
                             std::chrono::duration<double>(shell.options().timeout).count()));
  }
  const int code = shells::ExitCodeOf(outcome);
  if (code == kNotFound) {
    return Error(ErrorKind::kUnavailable, program.shown + " not found on PATH")
        .WithFix(program.install);
  }
  if (code == 0) return {};
  const shells::OutputLog& errors = *shell.FindStream("stderr");
  return Error(ErrorKind::kSystem, fmt::format("{}: exit status {}: {}", program.command, code,
                                               ViewOf(errors, 0, kShownErrors).text));
}

/// Runs the program and returns the picture.
Result<std::string> Draw(const Context& context, const ShellCall& call,
                         const RenderProgram& program, const RenderArguments& arguments,
                         const std::string& format) {
  shells::ShellOptions options = {.owner = call.owner(), .command = ScriptOf(program, format)};
  options.timeout = SecondsOf(arguments.timeout, kDefaultTimeout, kLongestTimeout);
  options.streams = shells::Streams::kSeparate;
  options.input = shells::Input::kText;
  options.input_text = arguments.source;
  POLYBOX_ASSIGN_OR_RETURN(
      const std::shared_ptr<shells::Shell> shell,
      call.shells().Start(call.machine(), std::move(options), shells::Place::kForeground));
  const jail::Outcome outcome = Await(context, *shell);
  // Also what the program has left in the background.
  (void)shell->End();
  call.shells().Forget(shell);
  POLYBOX_RETURN_IF_ERROR(Judge(program, outcome, *shell));
  const shells::OutputLog& picture = *shell->FindStream("stdout");
  const std::uint64_t size = picture.extent().end;
  if (size > kLargestPicture) {
    return Error(ErrorKind::kInvalid,
                 fmt::format("output {} bytes exceeds cap {}; reduce diagram complexity or use a "
                             "lighter format",
                             size, kLargestPicture));
  }
  std::string bytes = shells::ReadOn(picture, 0, size).bytes;
  if (bytes.empty() || bytes.size() != size) {
    return Error(ErrorKind::kSystem,
                 fmt::format("{} of {} bytes of the picture could be kept", bytes.size(), size));
  }
  return bytes;
}

}  // namespace

Result<RenderPrograms> ParseRenderPrograms(std::string_view toml, const std::string& origin) {
  POLYBOX_ASSIGN_OR_RETURN(const schema::Table table, schema::ParseToml(toml, origin));
  schema::Problems problems(origin);
  RenderPrograms programs;
  {
    schema::Reader reader(table, problems);
    for (schema::Reader& row : reader.SubList("program")) {
      std::string tool;
      RenderProgram program;
      row.Read("tool", tool, schema::Need::kRequired);
      row.Read("shown", program.shown, schema::Need::kRequired);
      row.Read("command", program.command, schema::Need::kRequired);
      row.Read("script", program.script, schema::Need::kRequired);
      row.Read("install", program.install, schema::Need::kRequired);
      if (!programs.emplace(tool, std::move(program)).second) {
        row.Conflict("tool", tool + " is listed twice");
      }
    }
  }
  POLYBOX_RETURN_IF_ERROR(problems.ToStatus());
  return programs;
}

std::string Text(const RenderResult& result) {
  return fmt::format("wrote {} bytes to {} ({})", result.bytes, result.output_path, result.format);
}

Result<RenderResult> Render(std::string_view tool, const Context& context,
                            const RenderArguments& arguments) {
  POLYBOX_RETURN_IF_ERROR(CheckArguments(arguments));
  POLYBOX_ASSIGN_OR_RETURN(const std::string format, FormatOf(arguments.output_path));
  const Result<RenderPrograms>& programs = Builtin();
  POLYBOX_RETURN_IF_ERROR(programs);
  {
    POLYBOX_ASSIGN_OR_RETURN(const WorkspaceCall files,
                             WorkspaceCall::Begin(context, Purpose::kWrite));
    POLYBOX_RETURN_IF_ERROR(CheckWholeFile(context, files, arguments.output_path));
  }
  POLYBOX_ASSIGN_OR_RETURN(const ShellCall call, ShellCall::Begin(context));
  Result<std::string> picture =
      Draw(context, call, programs->find(tool)->second, arguments, format);
  if (!picture.ok()) return std::move(picture).error().In(tool);
  POLYBOX_ASSIGN_OR_RETURN(const WorkspaceCall files,
                           WorkspaceCall::Begin(context, Purpose::kWrite));
  const std::lock_guard lock(files.workspace().writes());
  // The file may have changed while the program ran.
  POLYBOX_ASSIGN_OR_RETURN(
      const WrittenFile written,
      WriteWholeFile(context, files, arguments.output_path,
                     [&](const std::string* /*old_content*/) { return *picture; }));
  return RenderResult{.output_path = arguments.output_path,
                      .path = written.path,
                      .bytes = written.bytes,
                      .format = format,
                      .created = written.created};
}

}  // namespace polybox::tools
