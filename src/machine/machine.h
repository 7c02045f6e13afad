// The machine of a workspace: the jail in which all commands of one workspace run. It holds one
// lease (jail/lease.h), which is made when the first command needs it, ends when it has run nothing
// for a while, and is made again by the next command. Commands of one machine share processes,
// loopback ports and /tmp; two machines see nothing of each other. Any thread.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "jail/lease.h"
#include "languages/language.h"
#include "languages/toolchain.h"
#include "launch/jail_home.h"
#include "machine/identity.h"
#include "machine/machine_spec.h"
#include "machine/network.h"
#include "machine/protection.h"
#include "machine/state.h"
#include "machine/violation.h"
#include "workspace/linked_worktree.h"
#include "workspace/workspace.h"

namespace polybox::machine {

/// A command to start in a machine.
struct Command {
  /// argv[0] is a path in the jail.
  std::vector<std::string> argv;
  /// Absolute, in the workspace or below it; "" is the root of the workspace.
  std::string directory = {};
  /// Replaces variables of the machine's environment.
  std::map<std::string, std::string> env = {};
  /// 0 is no limit. The tree is killed at the end.
  Duration wall_time{};
  std::optional<jail::TerminalSize> terminal = {};
  /// See jail::ProcessRequest.
  int stdin_fd = -1;
  int stdout_fd = -1;
  int stderr_fd = -1;
};

/// Returns the home of the machine's jail. Called when the first command needs it, because finding
/// the isolation grade of a host takes tens of milliseconds.
using FindHome = std::function<Result<const launch::JailHome*>()>;

/// What the languages of this server have on this host.
struct HostTools {
  std::vector<languages::Toolchain> toolchains;
  std::vector<languages::PackageCache> caches;
  /// Further paths; `*` matches within one component.
  std::vector<std::string> read_only;
};
/// Finds the tools, when the first command needs them.
using FindTools = std::function<HostTools()>;

/// What the server's settings and surroundings say about its machines.
struct MachineSettings {
  /// The server's cache directory; "" if there is none. Commands then have no home that lasts.
  std::string cache_dir = {};
  /// The server's PATH.
  std::string path = {};
  FindTools tools = {};
  AsRoot as_root = AsRoot::kRefuse;
  /// Paths that no other tree may show, such as the other workspaces.
  std::vector<std::string> closed = {};
  MachineLimits limits = {};
  /// Must outlive the machines. Null: commands have no network, and nothing says so.
  Network* network = nullptr;
  /// A lease without processes ends after this time; 0 is never.
  Duration idle_time = std::chrono::minutes(10);
};

struct MachineOptions {
  FindHome home;
  MachineSettings settings = {};
  /// Distinguishes the slots of this process (jail::SlotOptions::number).
  unsigned number = 0;
  /// The same for the slot of trial downloads.
  unsigned trial_number = 1;
};

class Machine {
 public:
  /// `workspace` must outlive the machine.
  Machine(const workspace::Workspace& workspace, MachineOptions options);
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;
  /// Ends all processes of the machine.
  ~Machine();

  /// Starts a command, and makes the lease if there is none. An error says why the jail cannot be
  /// made. A program that could not be started is an outcome of its Process.
  Result<jail::Process> Start(const Command& command);
  /// Returns what the jail refused or took back since the last call. To be called when a command
  /// has ended, and before an answer about a running one.
  std::vector<Violation> TakeViolations();
  /// Returns a sentence for each property that the machine lacks in this isolation grade. Empty
  /// before the first command.
  std::vector<std::string> Notes() const;
  const workspace::Workspace& workspace() const { return workspace_; }
  /// Ends the lease if it has run nothing for the time of the settings. Returns when to ask again,
  /// or nothing if there is no lease or it never ends.
  std::optional<std::chrono::steady_clock::time_point> EndIfIdle();

 private:
  Status MakeLease();
  /// Returns whether the lease can run another command. Ends one that has no memory left.
  bool HasLease();
  /// Adds the repository of a linked worktree to the trees.
  void ShowRepository(jail::Spec& spec);
  /// Protects files from the processes of a new lease.
  Status Protect(jail::Grade grade);
  /// Finds out what the jail shows. Fills `parts_`, `state_` and `notes_`.
  Status Prepare(const launch::JailHome& home);
  /// Makes the home of the commands, or notes why there is none.
  Status PrepareState();
  void PrepareCaches(const std::vector<languages::PackageCache>& caches);
  void NoteGrade();
  /// Makes the lease on a thread of its own: it ends when the thread ends that has made it.
  Status KeepLease(const launch::JailHome& home, jail::Spec spec);
  /// Ends all that belongs to the lease.
  void EndLease();
  /// Adds the network to the spec of a new lease.
  void ShowNetwork(const launch::JailHome& home, jail::Spec& spec);
  /// Notes which package caches commands cannot change.
  void NoteSharedCaches();
  /// Starts the proxy of a new lease.
  Status ServeNetwork();
  jail::ProcessRequest RequestFor(const Command& command) const;

  const workspace::Workspace& workspace_;
  const MachineOptions options_;
  mutable std::mutex mutex_;
  // All below are guarded by `mutex_`. The first three describe the lease.
  MachineParts parts_;
  std::optional<State> state_;
  std::vector<std::string> notes_;
  std::chrono::steady_clock::time_point last_used_;
  std::jthread keeper_;
  std::shared_ptr<jail::Lease> lease_;
  /// What happened to the lease since the last TakeViolations().
  std::vector<Violation> lease_violations_;
  /// The repository of a linked worktree, between its lease and protection.
  std::optional<workspace::LinkedWorktree> repository_;
  /// Null if nothing is protected. Holds the lease too, so it ends before the lease.
  std::shared_ptr<Protection> protection_;
  /// Made with the first lease; null without MachineSettings::network.
  std::shared_ptr<MachineNetwork> network_;
};

}  // namespace polybox::machine
