// The tools of agents as the settings choose them, for `polybox mcp` and `polybox serve`.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "agent_observers.h"
#include "agent_secrets.h"
#include "base/log.h"
#include "command.h"
#include "config/settings.h"
#include "installed.h"
#include "launch/jail_home.h"
#include "machine/machines.h"
#include "machine/network.h"
#include "mcp/call_pool.h"
#include "mcp/dispatcher.h"
#include "mcp/tasks.h"
#include "registries/client.h"
#include "shells/shells.h"
#include "sys/temporary.h"
#include "tools/code_runner.h"
#include "tools/context.h"
#include "verify/verification.h"
#include "workspace/workspace_set.h"

namespace polybox::cmd {

/// Finds the home of the machines' jails and the toolchains once, when the first command needs
/// them. Any thread.
class MachineHome {
 public:
  /// All must outlive the object. `own` is the home of the server's other jails; null to make one
  /// when it is needed.
  MachineHome(const config::Settings& settings, const log::Logger& log, const launch::JailHome* own)
      : settings_(settings), log_(log), own_(own) {}
  Result<const launch::JailHome*> Find();
  machine::HostTools Tools();
  /// Returns the clients of package registries. They refer to the object.
  std::vector<registries::Client> Clients();

 private:
  /// Returns null if a language file is wrong. The caller holds `mutex_`.
  const Installed* FindInstalled();

  const config::Settings& settings_;
  const log::Logger& log_;
  const launch::JailHome* own_;
  std::mutex mutex_;
  /// Both guarded by `mutex_`.
  std::optional<Result<launch::JailHome>> home_;
  std::optional<Result<Installed>> installed_;
};

/// Destroying it waits for running calls.
struct AgentTools {
  workspace::WorkspaceSet workspaces;
  AgentSecrets secrets;
  std::unique_ptr<AgentObservers> observers;
  mcp::Dispatcher dispatcher;
  std::unique_ptr<MachineHome> home;
  std::unique_ptr<machine::Network> network;
  machine::MachineSettings machine_settings;
  machine::Machines machines{[this] { return home->Find(); }, machine_settings};
  // Its commands run in the machines.
  shells::Shells shells{{.find_directory = sys::TemporaryDirectory}};
  mcp::Tasks tasks{mcp::TaskLimits{}};
  std::unique_ptr<verify::Verification> verification;
  // Runs the programs of execute_code; set by the subcommand.
  std::unique_ptr<tools::CodeRunner> code = {};
  // Its destructor waits for calls, which use the members above.
  mcp::CallPool calls{mcp::CallLimits{}};

  /// Cancels the tasks, for which `calls` would wait.
  ~AgentTools() { tasks.CancelAll(); }

  /// Returns what each call gets. The transport sets the principal.
  tools::Context context() {
    return {.principal = "",
            .workspaces = &workspaces,
            .cache_dir = machine_settings.cache_dir,
            .machines = &machines,
            .shells = &shells,
            .verification = verification.get(),
            .code = code.get(),
            .secrets = secrets.store.get()};
  }
};

enum class Fixtures { kNo, kYes };

struct AgentToolsOptions {
  /// As for MachineHome.
  const launch::JailHome* own = nullptr;
  /// Whether the fixtures of the conformance suite are offered too.
  Fixtures fixtures = Fixtures::kNo;
};

/// Opens the workspaces and chooses the tools. Starts and writes nothing. An error is a mistake in
/// the settings. `context` must outlive the result.
Result<std::unique_ptr<AgentTools>> MakeAgentTools(const Context& context,
                                                   const AgentToolsOptions& options = {});

}  // namespace polybox::cmd
