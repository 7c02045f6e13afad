// What a person wants to see of the workspaces of a server: each with the commands of one caller.
// For GET /workspaces. No tool: an agent knows its own commands. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "json/member.h"
#include "tools/context.h"

namespace polybox::tools {

struct ListedCommand {
  std::string shell_id = {};
  std::string command = {};
  /// The words of BashOutput: "running", "completed (exit 0)", ...
  std::string status = {};
  /// Whether the command or a child of it runs.
  bool running = false;
  std::string started = {};
  /// Bytes that the command has written so far.
  std::int64_t output_bytes = 0;

  static constexpr auto Members() {
    return std::tuple(json::Required("shell_id", &ListedCommand::shell_id),
                      json::Required("command", &ListedCommand::command),
                      json::Required("status", &ListedCommand::status),
                      json::Required("running", &ListedCommand::running),
                      json::Required("started", &ListedCommand::started),
                      json::Required("output_bytes", &ListedCommand::output_bytes));
  }
};

struct ListedWorkspace {
  std::string name = {};
  std::string path = {};
  bool readonly = false;
  /// The latest start first.
  std::vector<ListedCommand> commands = {};

  static constexpr auto Members() {
    return std::tuple(json::Required("name", &ListedWorkspace::name),
                      json::Required("path", &ListedWorkspace::path),
                      json::Required("readonly", &ListedWorkspace::readonly),
                      json::Required("commands", &ListedWorkspace::commands));
  }
};

/// Returns all workspaces in the order of the settings, with the commands of `context.principal`.
std::vector<ListedWorkspace> ListWorkspaces(const Context& context);

}  // namespace polybox::tools
