// A slot without namespaces: its scratch space is a directory of the host, what holds its guests is
// Landlock (or nothing), and a run ends by ending the tree of its processes.
#pragma once

#include <string>
#include <vector>

#include "jail/init/landlock.h"
#include "jail/init/slot.h"

namespace polybox::jail::init {

class BareSlot {
 public:
  StepResult SetUp(const Setup& setup);
  /// Whether this slot is one.
  bool exists() const { return bare_.walls != Walls::kNamespaces; }

  /// `options` as for a slot with namespaces.
  StepResult MakePod(PodOptions options, Pod& pod);
  /// Kills and reaps all that descends from us. Returns what the processes used.
  Ended EndPod(Pod& pod);
  std::string work_directory() const { return bare_.home + "/sandbox"; }
  /// The scratch directories are made anew.
  StepResult Empty();
  /// Before we leave: nothing of the scratch space stays.
  void Remove();

 private:
  int Clear(const std::string& directory) const;
  int MakeDirectory(const std::string& directory) const;

  Bare bare_;
  std::vector<std::string> directories_;
  Ruleset ruleset_;
};

}  // namespace polybox::jail::init
