// KillShell: ends a command and all that it started.
#include <fmt/format.h>

#include "tools/shell_call.h"
#include "tools/tool.h"

namespace polybox::tools {
namespace {

struct KillShellArguments {
  std::string shell_id;

  static constexpr auto Members() {
    return std::tuple(json::Required("shell_id", &KillShellArguments::shell_id));
  }
};

struct KillShellResult {
  std::string shell_id = {};
  bool was_running = false;
  std::string status = {};

  static constexpr auto Members() {
    return std::tuple(json::Required("shell_id", &KillShellResult::shell_id),
                      json::Required("was_running", &KillShellResult::was_running,
                                     "The command or a child of it ran"),
                      json::Required("status", &KillShellResult::status));
  }
};

std::string Text(const KillShellResult& result) {
  return fmt::format("killed: {}\n", result.shell_id);
}

Result<KillShellResult> KillShell(const Context& context, const KillShellArguments& arguments) {
  POLYBOX_ASSIGN_OR_RETURN(const ShellCall call, ShellCall::Begin(context));
  POLYBOX_ASSIGN_OR_RETURN(const std::shared_ptr<shells::Shell> shell,
                           call.Find(arguments.shell_id));
  const bool was_running = shell->IsAlive();
  POLYBOX_RETURN_IF_ERROR(shell->End().In("KillShell"));
  return KillShellResult{shell->id(), was_running, StatusOf(*shell)};
}

}  // namespace

Tool KillShellTool() {
  return MakeTool<KillShellArguments, KillShellResult>(
      {.name = "KillShell",
       .title = "End a command",
       .description = "Ends a command and everything that it started. Its output stays readable.",
       .group = "core",
       .annotations =
           {.read_only = false, .destructive = true, .idempotent = true, .open_world = false}},
      KillShell);
}

}  // namespace polybox::tools
