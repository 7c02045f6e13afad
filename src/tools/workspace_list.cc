#include "tools/workspace_list.h"

#include <algorithm>
#include <memory>

#include "shells/shells.h"
#include "tools/shell_call.h"
#include "workspace/workspace_set.h"

namespace polybox::tools {
namespace {

/// A command may be a whole script. A list needs no more than its beginning.
constexpr std::size_t kShownCommand = 2000;

ListedCommand Describe(shells::Shell& shell) {
  ListedCommand listed = {.shell_id = shell.id(),
                          .command = shell.options().command.substr(0, kShownCommand),
                          .status = StatusOf(shell),
                          .running = shell.IsAlive(),
                          .started = TimeText(shell.started())};
  for (const shells::Stream& stream : shell.streams()) {
    listed.output_bytes += static_cast<std::int64_t>(stream.log->extent().end);
  }
  return listed;
}

}  // namespace

std::vector<ListedWorkspace> ListWorkspaces(const Context& context) {
  std::vector<ListedWorkspace> listed;
  for (const std::unique_ptr<workspace::Workspace>& workspace : context.workspaces->all()) {
    ListedWorkspace entry = {.name = workspace->name(),
                             .path = workspace->path(),
                             .readonly = workspace->access() == workspace::Access::kReadOnly};
    if (context.shells != nullptr) {
      for (const std::shared_ptr<shells::Shell>& shell :
           context.shells->List({.workspace = workspace->name(), .principal = context.principal})) {
        entry.commands.push_back(Describe(*shell));
      }
    }
    std::ranges::reverse(entry.commands);
    listed.push_back(std::move(entry));
  }
  return listed;
}

}  // namespace polybox::tools
