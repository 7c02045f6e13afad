// Writes a run's files into the scratch directories, and empties these between two sessions. Used
// by the slot init on its one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "jail/init/reuse.h"
#include "jail/init/step_result.h"
#include "jail/init/trace.h"

namespace polybox::jail::init {

/// Writes `files`, whose contents lie one after the other in `content` (borrowed).
StepResult WriteFiles(const Files& files, int content);

/// A scratch directory that is empty, or holds only files that the slot init wrote; `trace` is its
/// state at that time.
struct Scratch {
  Operation operation;
  Trace trace = {};
  /// How often the directory was mounted anew.
  int mounts = 0;
  std::vector<FileHeader> files = {};
  /// The position of the last of `files` in the directory: see filling.cc.
  std::int64_t last_place = 0;

  std::string path() const { return "/" + operation.target; }
};

/// Opens the directory `name` below the working directory `directory`, or the working directory
/// itself for "". Returns no descriptor and sets errno on failure. Follows no link.
UniqueFd OpenWorkDirectory(const std::string& directory, const std::string& name);

/// Records the state of the new scratch directories. Call it after the root is built.
void RememberScratch(std::vector<Scratch>& all);
/// Marks directories as changed that were made so recently that a guest's changes may not show in
/// their times. Call it before a guest starts.
void DistrustNewScratch(std::vector<Scratch>& all);
/// Marks all directories as changed, so that each is made anew.
void DistrustScratch(std::vector<Scratch>& all);
/// Makes each directory anew that `reuse` does not keep, that is, each directory that was changed.
StepResult EmptyScratch(std::vector<Scratch>& all, const Reuse& reuse);

/// Gives the working directory and /tmp another size. Where their content is larger already, the
/// size stays as it is.
StepResult ResizeScratch(std::vector<Scratch>& all, const Resize& size);

}  // namespace polybox::jail::init
