// Translates the messages of a cell, or of a supervisor, into values of the server. Any thread may
// call these functions.
#pragma once

#include <string>

#include "base/result.h"
#include "jail/init/protocol.h"
#include "jail/outcome.h"
#include "jail/scratch_home.h"
#include "sys/cgroup.h"

namespace polybox::jail {

/// Returns the name of the step that failed. `step` describes the step's object (an operation, a
/// program); it may be empty.
std::string FailedStep(const init::Failed& failed, const std::string& step);

/// Returns one sentence that says which step failed and why. `step` is as for
/// FailedStep().
std::string Sentence(const init::Failed& failed, const std::string& step);

/// Returns the outcome that the cell's init reported, without the figures that only a cgroup knows.
Outcome FromEnded(const init::Ended& ended);
/// Adds the figures of the run's cgroup. A SIGKILL becomes kOutOfMemory if the kernel killed for
/// want of memory.
void AddUsage(const sys::SlotCgroup& cgroup, Outcome& outcome);

/// Returns the outcome of a guest that could not become `program`. `home` is the directory of a
/// slot without namespaces, else null.
Outcome NotStarted(const init::Failed& failed, const std::string& program, const ScratchHome* home);

/// Returns an error when a message with arguments and environment is too large to be sent.
Status CheckSize(const std::string& message);

}  // namespace polybox::jail
