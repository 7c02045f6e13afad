// The files that a session begins with, and how they are removed again. If no guest left anything
// else, the scratch directory stays for the next session. Used by the slot init.
#pragma once

#include <vector>

#include "jail/init/scratch.h"

namespace polybox::jail::init {

/// Returns whether the directory is empty and indistinguishable from a new one.
bool IsUntouched(Scratch& scratch);
/// Records the files that were written to a directory that was untouched. Call it right after the
/// write.
void RememberFilling(Scratch& scratch, const std::vector<FileHeader>& files);
/// Removes the recorded files. Returns false when the directory is not as good as new after that;
/// the caller must then mount it anew.
bool TakeFillingAway(Scratch& scratch);

}  // namespace polybox::jail::init
