// The rights that every guest gives up, and the limits and streams that it gets. The functions run
// in the guest's own process: in one that waits in a cell, or in one that a zygote has forked. No
// function here except Pointers() allocates or uses errno: see raw.h.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "jail/init/cell_options.h"
#include "jail/init/step_result.h"

namespace polybox::jail::init {

/// Everything that does not depend on the program, except the filter: session, cgroups, identity,
/// capabilities, Landlock.
StepResult GiveUpRights(const CellOptions& options);
/// Installs the seccomp filter for all threads of the process. An empty filter is none.
StepResult InstallFilter(const std::string& filter);
/// Sets the soft and the hard limits of the process.
StepResult SetLimits(std::span<const ResourceLimit> limits);
/// Puts the standard streams in place, enters the working directory, and sets the limits of the
/// run.
StepResult TakePlace(const char* directory, std::span<const ResourceLimit> limits,
                     std::span<const int> streams);
/// Executes argv[0]. Returns only on failure.
Failed Execute(char* const* argv, char* const* env);

/// For the slot init and the warm library, which may allocate; so it is not in guest.cc. Returns
/// `texts` as the null-terminated array that execve() takes; `texts` must outlive it.
inline std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace polybox::jail::init
