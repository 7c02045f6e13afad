// shell_input: sends text to what a running command reads.
#include <fmt/format.h>

#include "tools/shell_call.h"
#include "tools/tool.h"

namespace polybox::tools {
namespace {

constexpr std::size_t kLongestText = 1U << 20U;
/// More than any screen has. Programs allocate a buffer of this size.
constexpr std::int64_t kMostCells = 1000;

struct ShellInputArguments {
  std::string shell_id;
  std::string text = {};
  bool close = false;
  std::optional<std::int64_t> rows = {};
  std::optional<std::int64_t> columns = {};

  static constexpr auto Members() {
    return std::tuple(
        json::Required("shell_id", &ShellInputArguments::shell_id),
        json::Optional("text", &ShellInputArguments::text,
                       "As typed: a line ends with \\n; \\u0003 on a terminal is Ctrl-C")
            .MaxLength(kLongestText),
        json::Optional("close", &ShellInputArguments::close, "End the input after the text"),
        json::Optional("rows", &ShellInputArguments::rows,
                       "Resize the terminal before the text; with columns")
            .Min(1)
            .Max(kMostCells),
        json::Optional("columns", &ShellInputArguments::columns).Min(1).Max(kMostCells));
  }
};

struct ShellInputResult {
  std::string shell_id = {};
  std::int64_t bytes = 0;
  bool closed = false;

  static constexpr auto Members() {
    return std::tuple(json::Required("shell_id", &ShellInputResult::shell_id),
                      json::Required("bytes", &ShellInputResult::bytes),
                      json::Required("closed", &ShellInputResult::closed));
  }
};

std::string Text(const ShellInputResult& result) {
  return fmt::format("sent {} bytes to {}{}\n", result.bytes, result.shell_id,
                     result.closed ? " and closed its input" : "");
}

Status Resize(const ShellInputArguments& arguments, shells::Shell& shell) {
  if (!arguments.rows && !arguments.columns) return {};
  if (!arguments.rows || !arguments.columns) {
    return Error(ErrorKind::kInvalid, "rows and columns must be given together");
  }
  return shell.Resize({.rows = static_cast<std::uint16_t>(*arguments.rows),
                       .columns = static_cast<std::uint16_t>(*arguments.columns)});
}

Result<ShellInputResult> ShellInput(const Context& context, const ShellInputArguments& arguments) {
  POLYBOX_ASSIGN_OR_RETURN(const ShellCall call, ShellCall::Begin(context));
  POLYBOX_ASSIGN_OR_RETURN(const std::shared_ptr<shells::Shell> shell,
                           call.Find(arguments.shell_id));
  if (shell->options().input == shells::Input::kNone && !shell->options().terminal) {
    return Error(ErrorKind::kInvalid,
                 fmt::format("stdin of shell_id {} is /dev/null", arguments.shell_id))
        .WithFix("Start the command with stdin_open or terminal");
  }
  if (!shell->IsAlive()) {
    return Error(ErrorKind::kInvalid, fmt::format("shell_id {} has ended", arguments.shell_id));
  }
  POLYBOX_RETURN_IF_ERROR(Resize(arguments, *shell));
  if (!arguments.text.empty()) POLYBOX_RETURN_IF_ERROR(shell->Write(arguments.text));
  if (arguments.close) POLYBOX_RETURN_IF_ERROR(shell->CloseInput());
  return ShellInputResult{shell->id(), static_cast<std::int64_t>(arguments.text.size()),
                          arguments.close};
}

}  // namespace

Tool ShellInputTool() {
  return MakeTool<ShellInputArguments, ShellInputResult>(
      {.name = "shell_input",
       .title = "Type into a command",
       .description = "Sends text to the stdin or terminal of a running command that was started "
                      "with stdin_open or terminal. BashOutput shows the effect.",
       .group = "core",
       .annotations =
           {.read_only = false, .destructive = true, .idempotent = false, .open_world = true}},
      ShellInput);
}

}  // namespace polybox::tools
