// The commands of all workspaces that have a handle. A handle is a random id, which only the owner
// of the command can use. A command beyond the limit of running commands is refused. The oldest
// commands that have ended are forgotten first. Any thread.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "machine/machine.h"
#include "shells/output_quota.h"
#include "shells/shell.h"

namespace polybox::shells {

struct ShellsOptions {
  /// Returns the directory for the files of stored output. Called once, by the first command.
  std::function<std::string()> find_directory = {};
  /// For all stored output together.
  Bytes output_quota = Bytes::MiB(1024);
  /// Commands of one workspace that may run at once. An agent that needs more has lost its handles.
  std::size_t running = 64;
  /// Foreground commands get this many places more: an agent with too many handles must still be
  /// able to look around.
  std::size_t running_foreground = 64;
  /// Commands of one workspace that have ended, and whose output can still be read.
  std::size_t finished = 64;
};

enum class Place { kForeground, kBackground };

class Shells {
 public:
  explicit Shells(ShellsOptions options);

  /// Starts a command and gives it a handle. `machine` is that of the owner's workspace.
  Result<std::shared_ptr<Shell>> Start(machine::Machine& machine, ShellOptions options,
                                       Place place);
  /// Returns the command with this handle. The error says whether there was one.
  Result<std::shared_ptr<Shell>> Find(const Owner& owner, const std::string& id);
  /// Returns the owner's commands that have a handle, in the order of their starts.
  std::vector<std::shared_ptr<Shell>> List(const Owner& owner);
  /// Takes the handle away from a command that nobody will ask about.
  void Forget(const std::shared_ptr<Shell>& shell);
  /// Returns whether this is the owner's first question. For notes that are said once.
  bool IsFirst(const Owner& owner);
  /// Returns how many commands with a handle still run.
  std::size_t Running();

 private:
  Status Admit(const Owner& owner, Place place);
  /// Needs the lock. Returns what was removed, to be destroyed without the lock.
  std::vector<std::shared_ptr<Shell>> RemoveOldest(const std::string& workspace);

  const ShellsOptions options_;
  OutputQuota quota_;
  std::once_flag directory_found_;
  std::string directory_;
  std::mutex mutex_;
  // All below are guarded by `mutex_`.
  /// In the order of their starts.
  std::vector<std::shared_ptr<Shell>> shells_;
  struct Expired {
    Owner owner;
    std::string id;
  };
  std::deque<Expired> expired_;
  std::vector<Owner> asked_;
  /// Commands that are being started.
  std::size_t starting_ = 0;
};

}  // namespace polybox::shells
