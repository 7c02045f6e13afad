// The protected files of a workspace, and of the repository that it belongs to: which are known,
// and what has changed since the last look. One thread at a time.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "machine/change_feed.h"
#include "workspace/protected_scan.h"
#include "workspace/protection_rules.h"

namespace polybox::machine {

/// A directory tree that a jail can write.
struct GuardedTree {
  /// Borrowed, open with O_PATH.
  int directory = -1;
  /// The absolute path, on the host and in the jail.
  std::string path;
  /// See workspace::ProtectionRules.
  std::string prefix;
};

/// A path in one of the trees. A directory sorts before what is below it.
using TreePath = WatchedDirectory;

struct Difference {
  enum class Kind {
    kAppeared,
    kReplaced,  ///< Another file is at the path of a known one, which is nowhere else.
    kMoved,     ///< A known file has another path now.
    kGone,
  };

  Kind kind = Kind::kAppeared;
  TreePath place;
  /// Without state if the file is gone.
  workspace::ProtectedFile file;
};

class ProtectedTrees {
 public:
  /// `paths` must outlive this object.
  static Result<ProtectedTrees> Make(std::vector<GuardedTree> trees,
                                     const workspace::ProtectedPaths& paths);

  /// Returns what differs from the known files. The first call looks at everything, later calls at
  /// what has changed since. A file that differs is known only after a call of Know().
  std::vector<Difference> Look();
  void Know(const Difference& difference);
  /// Returns the file that is at `place` now, if it is protected.
  std::optional<workspace::ProtectedFile> At(const TreePath& place) const;

  const std::map<TreePath, workspace::ProtectedFile>& known() const { return known_; }
  const std::vector<GuardedTree>& trees() const { return trees_; }
  workspace::ProtectionRules& rules(std::size_t tree) { return rules_[tree]; }
  const workspace::ProtectionRules& rules(std::size_t tree) const { return rules_[tree]; }
  /// Looks at everything again in the next call of Look().
  void LookAtAll() { all_ = true; }
  bool looks_at_all() const { return all_; }
  /// Whether all directories are watched. Otherwise each look is at everything.
  bool is_watching() const { return watching_; }
  /// Whether the looks since the last one at everything left nothing out. A command can make more
  /// directories and files than a look keeps in memory.
  bool is_complete() const { return complete_; }
  /// Readable when there is something to look at.
  int fd() const { return feed_.fd(); }

 private:
  /// What a look finds.
  struct Findings {
    std::map<TreePath, workspace::ProtectedFile> found;
    /// Known files that may have changed, and paths at which a protected file may be.
    std::set<TreePath> touched;
    std::set<TreePath> scans;
    /// How often the look has begun again, because changes were lost or too many.
    int restarts = 0;
  };
  using FileId = std::pair<dev_t, ino_t>;

  ProtectedTrees(std::vector<GuardedTree> trees, const workspace::ProtectedPaths& paths,
                 ChangeFeed feed);

  void ReadChanges(Findings& findings);
  /// Remembers a directory that could not be looked at.
  void LookAgainAt(const TreePath& place);
  void Note(const Change& change, Findings& findings);
  /// Adds the known files at `place` and below it to the touched ones.
  void TouchBelow(const TreePath& place, Findings& findings) const;
  void StartOver(Findings& findings);
  void Scan(const TreePath& start, Findings& findings);
  std::vector<Difference> Compare(const Findings& findings);

  std::vector<GuardedTree> trees_;
  std::vector<workspace::ProtectionRules> rules_;
  ChangeFeed feed_;
  std::map<TreePath, workspace::ProtectedFile> known_;
  /// Directories that could not be opened. They are tried again in each look.
  std::set<TreePath> unread_;
  bool all_ = true;
  bool watching_ = true;
  bool complete_ = true;
};

}  // namespace polybox::machine
