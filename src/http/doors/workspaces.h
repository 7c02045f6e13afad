// GET and HEAD /workspaces: the workspaces of the server, each with the commands of the client that
// asks. MCP has no tool for this: an agent knows its own commands. The output of a command is read
// with the tool BashOutput over POST /mcp.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "http/exchange.h"
#include "tools/workspace_list.h"

namespace polybox::http {

struct DoorRow;
extern const DoorRow kWorkspacesDoor;

/// Returns the workspaces with the commands of `principal`, which is the client of a request.
using WorkspaceLister =
    std::function<std::vector<tools::ListedWorkspace>(const std::string& principal)>;

/// `list` is null if the server has no workspaces.
Door MakeWorkspacesDoor(WorkspaceLister list);

}  // namespace polybox::http
