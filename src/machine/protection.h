// Keeps commands of a machine from changing files that programs outside of the jail execute or
// trust (workspace/protected_paths.h). Where there are namespaces, existing files are sealed in the
// running lease (jail::Lease::Seal()). Elsewhere changed files are put back from copies. A
// protected file that a command makes is moved aside. A file that appears while no process runs is
// the user's, and is protected from the next command on.
//
// The kernel does not tell who made a file. While a process of the machine runs, a new protected
// file counts as made by that process.
#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "jail/lease.h"
#include "machine/kept_copies.h"
#include "machine/protected_trees.h"
#include "machine/violation.h"
#include "workspace/linked_worktree.h"
#include "workspace/workspace.h"

namespace polybox::machine {

/// What keeps commands from changing existing protected files.
enum class Guard {
  kSeals,
  kCopies,  ///< In grades without namespaces.
};

struct ProtectionOptions {
  /// The first tree is the workspace.
  std::vector<GuardedTree> trees;
  /// The repository that is the second tree, if there is one. Kept for its descriptor.
  std::optional<workspace::LinkedWorktree> repository = {};
  /// Must outlive the object.
  const workspace::Workspace& workspace;
  Guard guard = Guard::kSeals;
  /// How long a protected file that a running command has made may stay. A command that makes a
  /// repository can so end before its repository is moved aside.
  std::chrono::milliseconds grace = std::chrono::seconds(5);
};

/// Any thread.
class Protection {
 public:
  static Result<std::unique_ptr<Protection>> Make(std::shared_ptr<jail::Lease> lease,
                                                  ProtectionOptions options);
  Protection(const Protection&) = delete;
  Protection& operator=(const Protection&) = delete;
  ~Protection();

  /// To be called before each start of a process. Protects what has appeared since the last
  /// process ended. AfterStart() must follow, whether the process could be started or not.
  Status BeforeStart();
  void AfterStart();
  /// Looks at what commands have changed, takes it back, and returns what happened since the last
  /// call.
  std::vector<Violation> Take();

 private:
  using Clock = std::chrono::steady_clock;
  /// What happens to files of commands that are younger than the grace time.
  enum class Young { kWait, kTakeBack };

  Protection(std::shared_ptr<jail::Lease> lease, ProtectionOptions options, ProtectedTrees trees);

  /// Looks at all changes. Files of commands become pending, files of others are sealed.
  void Judge();
  void JudgeOne(const Difference& difference);
  /// Moves pending files aside, and puts back what differs from its copy.
  void TakeBack(Young young);
  void TakeBackOne(const TreePath& place);
  /// Removes a file that was made again and again.
  Status Remove(const TreePath& place) const;
  void Report(const Damage& damage);
  bool IsBusy() const { return starting_ > 0 || lease_->IsBusy(); }
  Status AcceptAll();
  /// Finds the files that protected files name. Returns whether there are new ones.
  bool FindNamed();
  /// Seals or copies all known files.
  Status GuardKnown();
  Status SealKnown();
  void Note(const TreePath& place, std::string what, std::string fix = kUsualFix);
  /// Adds what a list of files cannot say.
  void NoteWhatIsMissing();
  void Watch(const std::stop_token& stop);
  std::string Shown(const TreePath& place) const;

  static constexpr const char* kUsualFix =
      "ask the user to make this change; the settings protected-paths and created-protected-files "
      "say what is protected, and what happens to such files";

  const std::shared_ptr<jail::Lease> lease_;
  const ProtectionOptions options_;
  std::mutex mutex_;
  std::condition_variable_any wakes_;
  // From here on: guarded by `mutex_`.
  ProtectedTrees trees_;
  KeptCopies copies_;
  /// Known files that are sealed.
  std::set<TreePath> sealed_;
  /// Protected files that a command has made, and when they were found.
  std::map<TreePath, Clock::time_point> pending_;
  /// Places from which a file was taken back. The next one there has no grace time: a process that
  /// makes the file again and again would otherwise have it in place all the time.
  std::set<TreePath> taken_;
  std::vector<Violation> violations_;
  /// Violations that are only counted, since the last Take().
  std::size_t unlisted_ = 0;
  bool told_incomplete_ = false;
  /// A process has run since the last look without a running process.
  bool commands_ran_ = false;
  /// Calls of BeforeStart() without their AfterStart().
  int starting_ = 0;
  /// Known files may lack their seals or copies.
  bool unguarded_ = false;
  Clock::time_point last_restore_;
  /// Looks while processes run. Starts last and ends first.
  std::jthread watcher_;
};

}  // namespace polybox::machine
