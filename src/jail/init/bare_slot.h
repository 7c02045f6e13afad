// A slot without namespaces. Its scratch space is a directory of the host. Landlock (or nothing)
// confines its guests. A run ends by killing the tree of its processes. Used by the slot init
// (main.cc) on its one thread.
#pragma once

#include <string>
#include <vector>

#include "jail/init/cell.h"
#include "jail/init/cell_options.h"
#include "jail/init/landlock.h"
#include "jail/init/step_result.h"
#include "jail/init/supervisor.h"

namespace polybox::jail::init {

class BareSlot {
 public:
  /// Prepares the slot: the guests' ids, the process settings, the scratch directories.
  StepResult SetUp(const Setup& setup);
  /// Returns whether this slot is without namespaces.
  bool exists() const { return bare_.walls != Walls::kNamespaces; }

  /// Makes a cell with a waiting guest. The caller fills `options` as for a slot with namespaces;
  /// this function replaces the fields that differ.
  StepResult MakeCell(CellOptions options, Cell& cell);
  /// Kills and reaps all descendants of the slot init. Returns what the processes used.
  Ended EndCell(Cell& cell);
  /// Fills the fields of `options` that differ from those of a slot with namespaces.
  StepResult Prepare(ProcessOptions& options);
  /// Kills and reaps all processes of a lease.
  void EndLease(pid_t lease_init);
  std::string work_directory() const { return bare_.home + "/sandbox"; }
  /// Removes the scratch directories and makes them anew. All guests must have ended.
  StepResult Empty();
  /// Removes the scratch space before the slot init exits.
  void Remove();

 private:
  StepResult MakeRuleset();
  /// Becomes the user whose ids the guests have, and gives up all rights of root.
  int BecomeUser() const;
  int Clear(const std::string& directory) const;
  int MakeDirectory(const std::string& directory) const;

  Bare bare_;
  std::vector<std::string> directories_;
  Ruleset ruleset_;
  bool signals_stay_inside_ = false;
};

}  // namespace polybox::jail::init
